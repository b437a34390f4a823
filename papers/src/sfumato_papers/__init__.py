"""The experiments of the papers: a folder for each paper, a file for each question."""
