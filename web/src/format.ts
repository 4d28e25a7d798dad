// Numbers as people read them. Bytes have binary units, as everywhere in cuvein.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count: number): string {
  let unit = 0;
  while (count >= 1024 && unit < UNITS.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit === 0 ? count : trim(count)} ${UNITS[unit]}`;
}

function trim(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0).replace(/\.0+$/, "");
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** Never 100 % for less than all, nor 0 % for more than nothing. */
export function percent(part: number, whole = 1): string {
  const share = whole ? part / whole : 0;
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  if (share >= 0.9995 && share < 1) return "> 99.9 %";
  return `${(share * 100).toFixed(1).replace(/\.0$/, "")} %`;
}

export function ratio(value: number): string {
  return Number.isFinite(value) ? `${value >= 100 ? count(value) : value.toFixed(2)}×` : "∞";
}

export function mean(value: number): string {
  return value.toFixed(2).replace(/\.?0+$/, "");
}

/** The address of an instruction: its offset, or where it lies when the base of the kernel is known. */
export function address(pc: number, base: bigint | null): string {
  return base === null ? `0x${(pc < 0 ? 0 : pc).toString(16).padStart(4, "0")}` : `0x${(base + BigInt(pc)).toString(16)}`;
}

/** Reads a base as people write it; null for nothing, undefined for something that is no address. */
export function readBase(text: string): bigint | null | undefined {
  const plain = text.trim().replaceAll(/[_\s]/g, "");
  if (!plain) return null;
  const digits = /^0x/i.test(plain) ? plain.slice(2) : plain;
  return /^[0-9a-f]{1,16}$/i.test(digits) ? BigInt(`0x${digits}`) : undefined;
}

export function shape(dimensions: number[]): string {
  const used = [...dimensions];
  while (used.length > 1 && used[used.length - 1] === 1) used.pop();
  return used.map(count).join(" × ");
}

export function fileName(path: string): string {
  return path.split("/").pop() ?? path;
}

export function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** A clause as a sentence of its own. */
export function sentence(clause: string): string {
  return clause.slice(0, 1).toUpperCase() + clause.slice(1) + (/[.!?]$/.test(clause) ? "" : ".");
}
