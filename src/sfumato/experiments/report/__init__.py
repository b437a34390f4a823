"""What the demonstration shows to people: the table, the figures, and one page of HTML."""
