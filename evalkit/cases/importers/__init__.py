"""Labels out of spreadsheets and of other tools' exports: declared maps, presets, and a report before anything is written."""
