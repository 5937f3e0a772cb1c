"""Labels out of spreadsheets and other tools' exports: declared maps, presets, a report before anything is written."""
