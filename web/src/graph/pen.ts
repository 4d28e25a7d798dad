// What the picture is drawn with: a canvas on the screen, or this for SVG. One drawing, two media.

export interface Pen {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  beginPath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void;
  closePath(): void;
  fill(): void;
  stroke(): void;
  setLineDash(dashes: number[]): void;
  fillText(text: string, x: number, y: number): void;
}

export class SvgPen implements Pen {
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "";
  textAlign: CanvasTextAlign = "start";
  private path: string[] = [];
  private dx = 0;
  private dy = 0;
  private dashes: number[] = [];
  private readonly out: string[] = [];

  translate(dx: number, dy: number): void {
    this.dx = dx;
    this.dy = dy;
  }

  beginPath(): void { this.path = []; }
  moveTo(x: number, y: number): void { this.path.push(`M${this.point(x, y)}`); }
  lineTo(x: number, y: number): void { this.path.push(`L${this.point(x, y)}`); }
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.path.push(`C${this.point(x1, y1)} ${this.point(x2, y2)} ${this.point(x, y)}`);
  }
  closePath(): void { this.path.push("Z"); }
  setLineDash(dashes: number[]): void { this.dashes = dashes; }

  fill(): void {
    this.out.push(`<path d="${this.path.join("")}" fill="${escape(String(this.fillStyle))}"${this.alpha()}/>`);
  }

  stroke(): void {
    const dash = this.dashes.length ? ` stroke-dasharray="${this.dashes.join(" ")}"` : "";
    this.out.push(`<path d="${this.path.join("")}" fill="none" stroke="${escape(String(this.strokeStyle))}" stroke-width="${n(this.lineWidth)}"${dash}${this.alpha()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const [, weight = "normal", size = "12", family = "sans-serif"] = /^(?:(\S+) )?([\d.]+)px (.*)$/.exec(this.font) ?? [];
    const anchor = this.textAlign === "center" ? "middle" : this.textAlign === "right" ? "end" : "start";
    this.out.push(`<text x="${n(x + this.dx)}" y="${n(y + this.dy)}" font-size="${size}" font-weight="${weight}" font-family="${escape(family)}" text-anchor="${anchor}" fill="${escape(String(this.fillStyle))}"${this.alpha()}>${escape(text)}</text>`);
  }

  document(width: number, height: number, background: string, title: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}">` +
      `<title>${escape(title)}</title><rect width="100%" height="100%" fill="${escape(background)}"/>${this.out.join("")}</svg>\n`;
  }

  private point(x: number, y: number): string {
    return `${n(x + this.dx)} ${n(y + this.dy)}`;
  }

  private alpha(): string {
    return this.globalAlpha === 1 ? "" : ` opacity="${n(this.globalAlpha)}"`;
  }
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escape(text: string): string {
  // Characters XML does not allow at all would make the whole picture unreadable.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
