"""What all experiments share: options, outcomes on disk, tables, plots, and the command."""
