/** Where a picture goes on a canvas of another shape: stretched, cropped, or with a border. Pure; draws nothing. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** In pixels of the canvas; what lies outside is cut off, what it leaves open is border. */
export interface Placed extends Size {
  readonly left: number;
  readonly top: number;
}

const fits = {
  /** As classifiers are trained. */
  crop: { label: 'Fill, the middle of it', larger: true, align: 0.5 },
  letterbox: { label: 'Whole, with a border', larger: false, align: 0.5 },
  /** As YOLOX and its kin are trained. */
  corner: { label: 'Whole, at the top left', larger: false, align: 0 },
} as const;

export type Fit = keyof typeof fits | 'stretch';

export const fitLabels: { readonly [Name in Fit]: string } = {
  crop: fits.crop.label,
  letterbox: fits.letterbox.label,
  corner: fits.corner.label,
  stretch: 'Stretched',
};

/** Grey of the border, as detectors are trained with. */
export const borderGrey = 114;

export function placePicture(fit: Fit, picture: Size, canvas: Size): Placed {
  if (fit === 'stretch') return { left: 0, top: 0, width: canvas.width, height: canvas.height };
  const { larger, align } = fits[fit];
  const ratios = [canvas.width / picture.width, canvas.height / picture.height];
  const ratio = larger ? Math.max(...ratios) : Math.min(...ratios);
  const [width, height] = [Math.round(picture.width * ratio), Math.round(picture.height * ratio)];
  return {
    left: Math.floor((canvas.width - width) * align),
    top: Math.floor((canvas.height - height) * align),
    width,
    height,
  };
}
