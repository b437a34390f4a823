"""One file per table or figure: what was measured, and the page or table it is shown on."""
