"""Controls of a judge: run them, and say whether it told all of them apart."""
