import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { createSigner, type Dialect, type SignedRequest } from '../../testing/index.ts'
import { writeBody } from '../../testing/signer.ts'
import { has, type ServiceVersion } from '../versions.ts'
import type { Webhook } from '../webhook.ts'
import type { FaultName } from './faults.ts'
import type { SignatureOptions } from './signature-options.ts'

/** How requests are written. */
export interface RequestOptions {
  version: ServiceVersion
  dialect: Dialect
  signature: SignatureOptions
}

/** @throws {WebhookError} `config_invalid` for options that would fail at every delivery */
export function requireSignatureOptions(signature: SignatureOptions): void {
  createSigner({ ...signature, signatureKey: 'any' })
}

/** Writes the request that carries a payload, with the fault that it is to have. */
export async function writeRequest(
  webhook: Readonly<Webhook>,
  payload: unknown,
  options: RequestOptions,
  fault: FaultName | undefined,
): Promise<SignedRequest> {
  const request = await signed(webhook, payload, options, fault)
  return CORRUPTIONS[fault as keyof typeof CORRUPTIONS]?.(request) ?? request
}

/** Without a key, and before version 11.2, there is no signature. */
async function signed(
  webhook: Readonly<Webhook>,
  payload: unknown,
  { version, dialect, signature }: RequestOptions,
  fault: FaultName | undefined,
): Promise<SignedRequest> {
  const { contentType, payloadFormat } = webhook
  const format = { ...signature, contentType, payloadFormat }
  const signatureKey = keyOf(webhook, fault)
  if (signatureKey && dialect !== 'organization' && has(version, 'signature'))
    return createSigner({ ...format, signatureKey }).sign(payload)
  const headers: Record<string, string> = { 'content-type': contentType }
  // An organization sends its secret as it is (field facts, "Three dialects share the word webhook").
  if (signatureKey && dialect === 'organization') headers.secret = signatureKey
  return { method: 'POST', headers, body: writeBody(payload, format) }
}

/** Empty for a request that bears no sign of a key. */
function keyOf({ signatureKey }: Readonly<Webhook>, fault: FaultName | undefined): string {
  if (fault === 'wrong_key') return randomBytes(32).toString('hex')
  return fault === 'unsigned' ? '' : signatureKey
}

/** What is done to a request after it was signed. */
const CORRUPTIONS: { [fault in FaultName]?: (request: SignedRequest) => SignedRequest } = {
  altered(request) {
    const body = Uint8Array.from(request.body)
    const middle = body.length >> 1
    body[middle] = (body[middle] as number) ^ 1
    return { ...request, body }
  },
  truncated: (request) => ({ ...request, body: request.body.slice(0, request.body.length >> 1) }),
  wrong_content_type: (request) => ({
    ...request,
    headers: { ...request.headers, 'content-type': 'text/plain' },
  }),
  gzip: (request) => ({
    ...request,
    headers: { ...request.headers, 'content-encoding': 'gzip' },
    body: Uint8Array.from(gzipSync(request.body)),
  }),
}
