"""How the page looks: soft edges, few colours, light and dark, from a phone upwards."""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark;
  --page: #f6f3ed; --card: #fdfcf9; --ink: #24282b; --soft: #5b6065; --line: #e2dcd1;
  --ours: #17646d; --paper: #a8522f; --none: #cfc8bb; --ground: #f1ede5; --dots: #8d8a83;
  --device: #f7e8d9; --device-ink: #7a4213; --server: #e0ecec; --server-ink: #1b555c;
  --glow-a: #e9c9a2; --glow-b: #9cc3c4; --shade: 0 1px 2px #3b2f1e0d, 0 12px 40px #3b2f1e14; }
@media (prefers-color-scheme: dark) { :root {
  --page: #15181a; --card: #1c2022; --ink: #e9e5dd; --soft: #a9a8a1; --line: #31363a;
  --ours: #74c7cb; --paper: #e5936c; --none: #454a4d; --ground: #23282a; --dots: #7d807d;
  --device: #3a2c1f; --device-ink: #f0c498; --server: #1d3538; --server-ink: #a4dade;
  --glow-a: #5b3f22; --glow-b: #1f4b50; --shade: 0 1px 2px #0004, 0 12px 40px #0005; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.6;
  font: 17px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  -webkit-text-size-adjust: 100%; }
header { position: relative; overflow: hidden; padding: 72px 0 28px; isolation: isolate; }
header::before { content: ""; position: absolute; inset: -140px -10% 0; z-index: -1;
  background: radial-gradient(closest-side, var(--glow-a), transparent) 8% 0 / 55% 100% no-repeat,
    radial-gradient(closest-side, var(--glow-b), transparent) 96% 20% / 60% 100% no-repeat;
  filter: blur(40px); opacity: .55; }
.wrap { max-width: 1120px; margin: 0 auto; padding: 0 28px; }
h1, h2, h3 { font-family: "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif;
  font-weight: 600; line-height: 1.2; text-wrap: balance; }
h1 { font-size: clamp(2.1rem, 5.4vw, 3.4rem); margin: 0 0 18px; letter-spacing: -.015em;
  max-width: 20em; }
h2 { font-size: clamp(1.5rem, 3.2vw, 2rem); margin: 84px 0 12px; }
h3 { font-size: 1.2rem; margin: 0 0 6px; }
p { margin: 0 0 14px; max-width: 68ch; }
.lead { font-size: 1.18rem; color: var(--soft); }
.small, figcaption { font-size: .9rem; color: var(--soft); }
.brand { font-style: italic; color: var(--soft); margin: 0 0 26px; }
.card { background: var(--card); border-radius: 22px; padding: 28px; box-shadow: var(--shade); }
.top { display: grid; gap: 28px; grid-template-columns: 1.25fr 1fr; align-items: center; }
.facts { display: grid; gap: 20px; margin: 0; }
.facts div { display: grid; gap: 2px; }
.facts dt { order: 2; color: var(--soft); font-size: .95rem; line-height: 1.45; }
.facts dd { margin: 0; font: 600 1.7rem/1.2 "Iowan Old Style", Palatino, Georgia, serif; }
.chart { width: 100%; height: auto; display: block; }
.chart text { font-size: 13px; fill: var(--soft); }
.chart .grid { stroke: var(--line); }
.chart .raw { stroke: var(--soft); stroke-width: 1.6; stroke-dasharray: 5 5; }
.chart g path { fill: none; stroke-width: 2.5; stroke: currentColor; }
.chart g circle { fill: currentColor; stroke: var(--card); stroke-width: 2; }
.chart .sfumato { color: var(--ours); } .chart .paper { color: var(--paper); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 22px; padding: 0;
  margin: 0 0 8px; font-size: .92rem; }
.legend li::before { content: ""; display: inline-block; width: 18px; vertical-align: middle;
  margin-right: 8px; border-top: 3px solid currentColor; border-radius: 2px; }
.legend span { color: var(--ink); }
.k-ours { color: var(--ours); } .k-paper { color: var(--paper); }
.k-raw { color: var(--soft); } .legend .k-raw::before { border-top-style: dashed; }
table { border-collapse: collapse; width: 100%; font-size: .94rem;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: .84rem; line-height: 1.3;
  vertical-align: bottom; padding: 0 10px 10px 0; }
td { padding: 9px 10px 9px 0; border-top: 1px solid var(--line); vertical-align: middle; }
td.number, th.number { text-align: right; }
tr.sfumato td { font-weight: 600; } tr.sfumato td:nth-child(2) { color: var(--ours); }
tr.paper td:nth-child(2) { color: var(--paper); }
.bar { display: flex; height: 6px; border-radius: 3px; overflow: hidden; background: var(--none);
  margin-top: 5px; }
.bar i { background: var(--ours); } .bar i + i { background: var(--paper); }
.note { margin-top: 16px; } .note p { margin-bottom: 6px; max-width: none; }
.warning { border-left: 4px solid var(--paper); padding: 4px 0 4px 18px; margin: 24px 0; }
.warning p { margin: 0; }
.example { margin: 0 0 36px; } .example > p { margin-bottom: 20px; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 0; border-radius: 16px;
  overflow: hidden; }
.side { padding: 20px; }
.device { background: var(--device); } .server { background: var(--server); }
.side h4 { margin: 0 0 14px; font-size: .95rem; font-weight: 650; }
.device h4 { color: var(--device-ink); } .server h4 { color: var(--server-ink); }
.device figcaption, .server figcaption { color: inherit; opacity: .86; }
figure { margin: 0 0 20px; } figure:last-child { margin-bottom: 0; }
figcaption { margin-top: 8px; line-height: 1.45; }
.picture { width: 100%; height: auto; display: block; border-radius: 12px; }
.ground { fill: var(--ground); }
.star { fill: none; stroke: var(--ours); stroke-width: 1.3; stroke-linecap: round; }
.tile .star { stroke-width: 1.8; }
.dots { fill: none; stroke: var(--dots); stroke-linecap: round; opacity: .7; }
.mapping { fill: none; stroke: var(--dots); stroke-width: 1.2; opacity: .55; }
.found { fill: var(--ours); opacity: .38; } .found-dot { fill: var(--ours); }
.truth { fill: none; stroke: var(--paper); stroke-width: 2.4; stroke-dasharray: 6 4; }
.hidden { position: absolute; width: 0; height: 0; }
.steps { display: flex; flex-wrap: wrap; gap: 0; padding: 0; border-radius: 16px;
  overflow: hidden; margin: 20px 0 0; }
.steps > div { display: flex; gap: 18px; padding: 20px; flex: 1 1 300px; flex-wrap: wrap; }
.steps figure { flex: 1 1 104px; max-width: 150px; margin: 0; }
.steps h4 { flex-basis: 100%; margin: 0; }
.tile { width: 100%; height: auto; display: block; border-radius: 10px; aspect-ratio: 1; }
.columns { display: grid; grid-template-columns: 1fr 1fr; gap: 28px 44px; }
.columns p:last-child, .top p:last-child { margin-bottom: 0; }
ul { padding-left: 1.15em; margin: 0 0 14px; } li { margin-bottom: 6px; }
dl.made { display: grid; grid-template-columns: max-content 1fr; gap: 6px 24px; margin: 0; }
dl.made dt { color: var(--soft); } dl.made dd { margin: 0; overflow-wrap: anywhere; }
sup { line-height: 0; }
code { font: .92em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
footer.wrap { padding-top: 40px; padding-bottom: 72px; }
@media (max-width: 860px) {
  .top, .columns, .sides { grid-template-columns: 1fr; }
  thead { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden; }
  table, tbody { display: block; }
  tr { display: grid; grid-template-columns: 1fr 1fr 1fr; gap: 6px 16px; padding: 14px 0;
    border-top: 1px solid var(--line); }
  tbody tr:first-child { border: 0; padding-top: 0; } td:first-child { grid-column: span 2; }
  td, td.number { border: 0; padding: 0; text-align: left; }
  td::before { content: attr(data-name); display: block; color: var(--soft); font-size: .8rem;
    font-weight: 400; } }
@media (max-width: 560px) { body { font-size: 16px; } .wrap { padding: 0 16px; }
  .card { padding: 18px; border-radius: 18px; } .side { padding: 16px; }
  header { padding-top: 44px; } h2 { margin-top: 60px; }
  dl.made { grid-template-columns: 1fr; gap: 2px; } dl.made dd { margin-bottom: 10px; } }
"""
