"""What the page of an attacked photograph needs beyond the common style."""

from __future__ import annotations

PHOTO_CSS = """
.three { display: grid; grid-template-columns: repeat(3, 1fr); gap: 20px; }
.three figure { margin: 0; }
.three .side { padding: 16px; border-radius: 16px; }
.three h2 { font: 650 .95rem/1.4 system-ui, sans-serif; margin: 0 0 10px; }
.three .device h2 { color: var(--device-ink); } .three .server h2 { color: var(--server-ink); }
.rung { margin: 0 0 24px; }
.rung > h3 small { font: 400 .9rem system-ui, sans-serif; color: var(--soft); margin-left: 8px;
  white-space: nowrap; }
.shots { display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px; margin-top: 14px; }
.shots figure { margin: 0; }
.shots img { width: 100%; height: auto; display: block; border-radius: 10px; }
.shots figcaption b { color: var(--ink); display: block; }
.shots figcaption span { display: block; }
.shots .level { display: block; height: 5px; border-radius: 3px; background: var(--none);
  margin: 8px 0 0; overflow: hidden; }
.shots .level i { display: block; height: 100%; background: var(--paper); }
.words .level i { background: var(--ours); }
@media (max-width: 860px) { .three { grid-template-columns: 1fr 1fr; }
  .three .server { grid-column: 1 / -1; } .shots { grid-template-columns: 1fr 1fr; } }
@media (max-width: 420px) { .three { gap: 12px; } .shots { gap: 12px; } }
"""
