"""Where the picture is: filters, mechanisms, the ledger, and `protect` on one page."""
