/** The report of an attack as one file that loads nothing: verdict, pictures, figures. It holds the photograph. */

export interface ReportRow {
  readonly name: string;
  readonly sent: string;
  readonly guarantee: string;
  readonly bytes: string;
  readonly right: string;
  readonly ssim: string;
  /** A data: address. */
  readonly picture: string;
}

export interface Report {
  readonly verdict: readonly string[];
  readonly rows: readonly ReportRow[];
  readonly notes: readonly string[];
  readonly version: string;
}

const STYLE = `:root{color-scheme:light dark}body{font:17px/1.6 system-ui,sans-serif;max-width:1000px;margin:40px auto;padding:0 20px}
h1{font:600 2rem/1.2 Georgia,serif}.shots{display:grid;gap:20px;grid-template-columns:repeat(auto-fill,minmax(200px,1fr))}
figure{margin:0}img{width:100%;border-radius:10px;display:block}figcaption{font-size:.9rem}
table{border-collapse:collapse;width:100%;font-size:.92rem;margin:28px 0}th,td{text-align:left;padding:8px 12px 8px 0;border-top:1px solid #8886}`;

/** The page as text. */
export function reportPage({ notes, rows, verdict, version }: Report): string {
  const heads = ["what is sent", "guarantee", "bytes", "guessed right", "SSIM"];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>sfumato: what a curious server would see</title><style>${STYLE}</style></head><body>
<h1>What a curious server would see</h1>
${verdict.map((sentence) => `<p>${text(sentence)}</p>`).join("\n")}
<div class="shots">${rows.map(({ name, picture }) => `<figure><img src="${text(picture)}" alt="${text(name)}"><figcaption>${text(name)}</figcaption></figure>`).join("\n")}</div>
<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join("")}</tr></thead><tbody>
${rows.map((row) => `<tr>${[row.sent, row.guarantee, row.bytes, row.right, row.ssim].map((cell) => `<td>${text(cell)}</td>`).join("")}</tr>`).join("\n")}
</tbody></table>
${notes.map((note) => `<p>${text(note)}</p>`).join("\n")}
<p>Made by the sfumato studio ${text(version)} inside a browser tab. This file holds the photograph: keep it where you would keep the photograph.</p>
</body></html>
`;
}

function text(value: string): string {
  return value.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
