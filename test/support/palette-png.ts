import { crc32, deflateSync, inflateSync } from "node:zlib";

/** Colours that are kept; screens of text have fewer that matter. */
const COLOURS = 64;

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Three bytes a pixel. */
  readonly rgb: Buffer;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** Reads a PNG of 8 bits a channel, not interlaced: what browsers take pictures in. */
function readPng(png: Buffer): Pixels {
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const size = png[25] === 6 ? 4 : 3;
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * size;
  const rgb = Buffer.alloc(width * height * 3);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)] ?? 0;
    const line = Buffer.from(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    for (let x = 0; x < stride; x += 1) {
      const left = x < size ? 0 : (line[x - size] ?? 0);
      const corner = x < size ? 0 : (above[x - size] ?? 0);
      const up = above[x] ?? 0;
      const predicted = [0, left, up, (left + up) >> 1, filter === 4 ? paeth(left, up, corner) : 0][filter] ?? 0;
      line[x] = ((line[x] ?? 0) + predicted) & 0xff;
    }
    for (let x = 0; x < width; x += 1) line.copy(rgb, (y * width + x) * 3, x * size, x * size + 3);
    above = line;
  }
  return { width, height, rgb };
}

function distance(one: number, other: number): number {
  const [red, green, blue] = [
    (one >> 16) - (other >> 16),
    ((one >> 8) & 255) - ((other >> 8) & 255),
    (one & 255) - (other & 255),
  ];
  return red * red * 2 + green * green * 4 + blue * blue;
}

/** The colours used most, and for every colour which of them stands for it. */
function choosePalette({ rgb }: Pixels): {
  readonly palette: readonly number[];
  readonly indexes: ReadonlyMap<number, number>;
} {
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = rgb.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette: number[] = [];
  // Colours next to a chosen one are left to it, so that rare accents find room.
  for (const near of [300, 0]) {
    for (const [colour] of [...counts].sort(([, one], [, other]) => other - one)) {
      if (palette.length >= COLOURS) break;
      if (palette.every((each) => distance(each, colour) > near)) palette.push(colour);
    }
  }
  const nearest = (colour: number): number =>
    palette.reduce((best, each, at) => (distance(each, colour) < distance(palette[best] ?? 0, colour) ? at : best), 0);
  return { palette, indexes: new Map([...counts.keys()].map((colour) => [colour, nearest(colour)])) };
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(content.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

/** The same picture with a palette of 64 colours: a fraction of the size, and text stays sharp. */
export function toPalettePng(png: Buffer): Buffer {
  const pixels = readPng(png);
  const { width, height, rgb } = pixels;
  const { palette, indexes } = choosePalette(pixels);
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      lines[y * (width + 1) + 1 + x] = indexes.get(rgb.readUIntBE((y * width + x) * 3, 3)) ?? 0;
    }
  }
  const colours = Buffer.alloc(palette.length * 3);
  palette.forEach((colour, at) => colours.writeUIntBE(colour, at * 3, 3));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", head),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(lines, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
