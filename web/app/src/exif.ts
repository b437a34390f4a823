/** The one thing a photograph's file is asked beside its pixels: how long its lens was. */

const EXIF_POINTER = 0x8769;
const FOCAL_35_MM = 0xa405;

/** The focal length as on 35 mm film, or null where the file does not say. */
export function focal35(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return focalOfTiff(view, exifStart(view));
  } catch {
    return null; // cut or lying lengths: RangeError
  }
}

/** Where the TIFF structure of a JPEG's APP1 segment begins. */
function exifStart(view: DataView): number {
  if (view.getUint16(0) !== 0xffd8) throw new RangeError("not a JPEG");
  for (let at = 2; ; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint16(at);
    if (marker === 0xffe1 && view.getUint32(at + 4) === 0x45786966) return at + 10;
    if (marker >> 8 !== 0xff || marker === 0xffda) throw new RangeError("no EXIF");
  }
}

function focalOfTiff(view: DataView, start: number): number | null {
  const little = view.getUint16(start) === 0x4949;
  const main = entries(view, start, view.getUint32(start + 4, little), little);
  const exif = main.get(EXIF_POINTER);
  if (exif === undefined) return null;
  const focal = entries(view, start, view.getUint32(exif + 8, little), little).get(FOCAL_35_MM);
  if (focal === undefined) return null;
  const millimetres = view.getUint16(focal + 8, little);
  return millimetres >= 8 && millimetres <= 800 ? millimetres : null;
}

/** Tag to position of its entry. */
function entries(view: DataView, start: number, offset: number, little: boolean): Map<number, number> {
  const found = new Map<number, number>();
  const count = view.getUint16(start + offset, little);
  for (let index = 0; index < count; index++) {
    const at = start + offset + 2 + 12 * index;
    found.set(view.getUint16(at, little), at);
  }
  return found;
}
