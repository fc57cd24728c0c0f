/** Finds for every pixel the place that it shows, the value there, and its colour. */
import type { Scene } from "./scene.ts";

const KINDS = { map: 0, globe: 1, section: 2 } as const;

export const VERTEX_SHADER = `#version 300 es
void main() {
  // One triangle that covers everything.
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(corner, 0.0, 1.0);
}`;

/** One program per kind of camera: a graphics processor that is software compiles and runs the less, the better. */
export function fragmentShader(kind: Scene["camera"]["kind"]): string {
  return `#version 300 es
#define KIND ${KINDS[kind]}
${BODY}`;
}

const BODY = `
precision highp float;
precision highp int;

uniform vec2 uSize;         // of the canvas in device pixels
uniform vec3 uCamera;       // longitude, latitude, degrees per pixel or radius in pixels
uniform vec2 uTilt;         // sine and cosine of the latitude
uniform sampler2D uValues;
uniform sampler2D uChangedAt;
uniform sampler2D uColours;
uniform sampler2D uLayers;
uniform ivec2 uCells;       // columns, rows
uniform vec4 uGrid;         // xFirst, xStep, yFirst, yStep
uniform float uPeriod;
uniform bool uRound;
uniform vec2 uRange;
uniform bool uSmooth;
uniform float uDim;
uniform vec3 uChange;       // now, fade in seconds (0: not shown), brightness of quiet cells
out vec4 colour;

const float RADIANS = 0.017453292519943295;

bool isNan(float v) { return !(v == v); }
float valueOf(int column, int row) { return texelFetch(uValues, ivec2(column, row), 0).r; }

void main() {
  vec2 pixel = vec2(gl_FragCoord.x, uSize.y - gl_FragCoord.y);
  vec2 middle = pixel - 0.5 * uSize;
  vec2 where;
  float shade = 1.0;
  float alpha = 1.0;
#if KIND == 0
  where = vec2(uCamera.x + middle.x * uCamera.z, uCamera.y - middle.y * uCamera.z);
  if (abs(where.y) > 90.0) discard;
#elif KIND == 1
  vec2 p = vec2(middle.x, -middle.y) / uCamera.z;
  float far = dot(p, p);
  alpha = clamp((1.0 - sqrt(far)) * uCamera.z + 0.5, 0.0, 1.0);
  if (alpha <= 0.0) discard;
  float up = sqrt(max(0.0, 1.0 - far));
  where.y = asin(clamp(up * uTilt.x + p.y * uTilt.y, -1.0, 1.0)) / RADIANS;
  where.x = uCamera.x + atan(p.x, up * uTilt.y - p.y * uTilt.x) / RADIANS;
  shade = 0.62 + 0.38 * sqrt(up);
#else
  int entries = textureSize(uLayers, 0).x;
  int entry = clamp(int((1.0 - pixel.y / uSize.y) * float(entries)), 0, entries - 1);
  where = vec2(pixel.x / uSize.x * 180.0 - 90.0, texelFetch(uLayers, ivec2(entry, 0), 0).r);
#endif

  float across = where.x - uGrid.x;
  float half_ = 0.5 * uGrid.y;
  if (uPeriod > 0.0) across = mod(across + half_, uPeriod) - half_;
  float column = across / uGrid.y;
  float row = (where.y - uGrid.z) / uGrid.w;
  if (row < -0.5 || row > float(uCells.y) - 0.5 || column < -0.5) discard;
  if (column > float(uCells.x) - 0.5 && !uRound) discard;

  int nearColumn = int(floor(column + 0.5)) % uCells.x;
  int nearRow = clamp(int(floor(row + 0.5)), 0, uCells.y - 1);
  float nearest = valueOf(nearColumn, nearRow);
  float value = nearest;
  if (uSmooth) {
    float r = clamp(row, 0.0, float(uCells.y - 1));
    int upper = int(floor(r));
    int lower = min(upper + 1, uCells.y - 1);
    int left = int(floor(column));
    int right = left + 1;
    float weight = column - float(left);
    int last = uCells.x - 1;
    if (uRound && (left < 0 || left >= last)) {
      float gap = uPeriod / uGrid.y - float(last);
      weight = (left < 0 ? column + gap : column - float(last)) / gap;
      left = last;
      right = 0;
    } else {
      left = max(left, 0);
      right = clamp(right, 0, last);
    }
    float north = mix(valueOf(left, upper), valueOf(right, upper), weight);
    float south = mix(valueOf(left, lower), valueOf(right, lower), weight);
    float mixed = mix(north, south, r - float(upper));
    value = isNan(mixed) ? nearest : mixed;
  }
  if (isNan(value)) discard;

  float t = clamp((value - uRange.x) / (uRange.y - uRange.x), 0.0, 1.0);
  vec3 rgb = texture(uColours, vec2((t * 255.0 + 0.5) / 256.0, 0.5)).rgb;
  if (uChange.y > 0.0) {
    float age = uChange.x - texelFetch(uChangedAt, ivec2(nearColumn, nearRow), 0).r;
    float glow = clamp(1.0 - age / uChange.y, 0.0, 1.0);
    rgb = mix(rgb * uChange.z, rgb, glow) + 0.28 * glow * glow * glow;
  }
  colour = vec4(min(rgb, 1.0) * shade * uDim * alpha, alpha);
}`;
