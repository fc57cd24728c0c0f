import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtemp, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TlsOptions } from "@jecho/server";

/** A private key and a certificate of it that it has signed itself, as PEM. */
export interface SelfSigned {
  readonly key: string;
  readonly cert: string;
}

const ECDSA_WITH_SHA256 = sequence(Buffer.from("06082a8648ce3d040302", "hex"));
const COMMON_NAME = Buffer.from("0603550403", "hex");

/** @param name that it is for: it says no other */
export function selfSigned(name: string): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = sequence(part(0x31, sequence(COMMON_NAME, part(0x0c, Buffer.from(name)))));
  const validity = sequence(
    part(0x17, Buffer.from("200101000000Z")),
    part(0x18, Buffer.from("21200101000000Z")),
  );
  const serial = part(0x02, Buffer.of(1));
  const spki = publicKey.export({ type: "spki", format: "der" });
  const content = sequence(serial, ECDSA_WITH_SHA256, issuer, validity, issuer, spki);
  const signature = part(0x03, Buffer.of(0), sign("sha256", content, privateKey));
  const certificate = sequence(content, ECDSA_WITH_SHA256, signature).toString("base64");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${(certificate.match(/.{1,64}/g) ?? []).join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}

/** New files with these, which are exchanged by `put`. */
export async function tlsFiles(
  first: SelfSigned,
): Promise<{ tls: TlsOptions; put(next: SelfSigned): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const put = async ({ key, cert }: SelfSigned): Promise<void> => {
    for (const [file, text] of [
      [keyFile, key],
      [certFile, cert],
    ] as const) {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    }
  };
  await put(first);
  return { tls: { keyFile, certFile }, put };
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return part(0x30, ...parts);
}

/** In DER. */
function part(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const lengths = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag, ...lengths), content]);
}
