/** A small picture to try the page with, drawn here so that nothing has to be fetched: starlings over a lake at dusk. */
import { canvasOf } from '../picture.ts';

const width = 176;
const height = 120;

export async function samplePicture(): Promise<Blob> {
  const canvas = canvasOf(width, height);
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser gives no canvas to draw on.');
  const sky = context.createLinearGradient(0, 0, 0, 82);
  sky.addColorStop(0, '#27406b');
  sky.addColorStop(0.55, '#c9788a');
  sky.addColorStop(1, '#f6c27a');
  context.fillStyle = sky;
  context.fillRect(0, 0, width, 82);
  context.fillStyle = '#fff1c9';
  context.beginPath();
  context.arc(122, 66, 9, 0, 2 * Math.PI);
  context.fill();
  drawHills(context, 70, 9, '#56527a', 0.045);
  drawHills(context, 76, 6, '#343a5c', 0.08);
  const lake = context.createLinearGradient(0, 80, 0, height);
  lake.addColorStop(0, '#e2a27f');
  lake.addColorStop(1, '#2c3a62');
  context.fillStyle = lake;
  context.fillRect(0, 80, width, height - 80);
  context.strokeStyle = 'rgba(255, 236, 200, 0.55)';
  context.lineWidth = 0.8;
  for (let i = 0; i < 22; i++) {
    const y = 83 + i * 1.7;
    const x = 122 + Math.sin(i * 2.4) * (3 + i * 0.9);
    context.beginPath();
    context.moveTo(x - 3 - i * 0.35, y);
    context.lineTo(x + 3 + i * 0.35, y);
    context.stroke();
  }
  drawReeds(context);
  drawFlock(context);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error('The sample was not drawn.')) : resolve(blob)));
  });
}

function drawHills(
  context: CanvasRenderingContext2D,
  base: number,
  rise: number,
  fill: string,
  wave: number,
): void {
  context.fillStyle = fill;
  context.beginPath();
  context.moveTo(0, 82);
  for (let x = 0; x <= width; x += 2) {
    context.lineTo(x, base - rise * (Math.sin(x * wave + base) * 0.6 + Math.sin(x * wave * 2.3) * 0.4));
  }
  context.lineTo(width, 82);
  context.fill();
}

function drawReeds(context: CanvasRenderingContext2D): void {
  context.strokeStyle = '#161b33';
  for (let i = 0; i < 34; i++) {
    const x = (i * 37) % 70;
    const tip = 84 + ((i * 53) % 24);
    context.lineWidth = 0.6 + (i % 3) * 0.3;
    context.beginPath();
    context.moveTo(x, height);
    context.quadraticCurveTo(x + 1, (height + tip) / 2, x + 2 + (i % 5), tip);
    context.stroke();
  }
}

function drawFlock(context: CanvasRenderingContext2D): void {
  context.strokeStyle = '#171a2c';
  context.lineWidth = 0.9;
  for (let i = 0; i < 60; i++) {
    const angle = i * 2.39996;
    const radius = 3.4 * Math.sqrt(i);
    const x = 62 + radius * Math.cos(angle) * 1.7;
    const y = 30 + radius * Math.sin(angle) * 0.62 + x * 0.06;
    const span = 1.4 + (i % 4) * 0.5;
    context.beginPath();
    context.moveTo(x - span, y - 0.8);
    context.quadraticCurveTo(x - span / 3, y - 0.9, x, y);
    context.quadraticCurveTo(x + span / 3, y - 0.9, x + span, y - 0.8);
    context.stroke();
  }
}
