import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Dialect } from '../../testing/index.ts'
import { createSeal, type Seal, type SignedRequest } from '../../testing/signer.ts'
import { perObject } from '../memoize.ts'
import type { Webhook } from '../state/webhook.ts'
import { has, type ServiceVersion } from '../versions.ts'
import type { FaultName } from './faults.ts'
import type { SignatureOptions } from './signature-options.ts'

/** How requests are written. */
export interface RequestOptions {
  version: ServiceVersion
  dialect: Dialect
  signature: SignatureOptions
}

/** Writes the request that has this body, with the fault that it is to have. */
export type RequestWriter = (
  webhook: Readonly<Webhook>,
  body: Uint8Array<ArrayBuffer>,
  fault: FaultName | undefined,
) => SignedRequest | Promise<SignedRequest>

/** @throws {WebhookError} `config_invalid` for options that would fail at every delivery */
export function createRequestWriter({ version, dialect, signature }: RequestOptions): RequestWriter {
  createSeal({ ...signature, signatureKey: 'any' })
  const isSigned = dialect !== 'organization' && has(version, 'signature')

  const createSealFor = ({ contentType }: Readonly<Webhook>, signatureKey: string): Seal =>
    createSeal({ ...signature, contentType, signatureKey })
  /** With the webhook's own key, which is imported once. */
  const sealOf = perObject((webhook: Readonly<Webhook>) => createSealFor(webhook, webhook.signatureKey))

  /** Without a key, and before version 11.2, there is no signature. */
  function unsigned(
    { contentType }: Readonly<Webhook>,
    body: Uint8Array<ArrayBuffer>,
    signatureKey: string,
  ): SignedRequest {
    const headers: Record<string, string> = { 'content-type': contentType }
    // An organization sends its secret as it is (field facts, "Three dialects share the word webhook").
    if (signatureKey && dialect === 'organization') headers.secret = signatureKey
    return { method: 'POST', headers, body }
  }

  const write: RequestWriter = (webhook, body, fault) => {
    const signatureKey = keyOf(webhook, fault)
    if (!signatureKey || !isSigned) return unsigned(webhook, body, signatureKey)
    const isOwn = signatureKey === webhook.signatureKey
    const seal = isOwn ? sealOf(webhook) : createSealFor(webhook, signatureKey)
    return seal(body)
  }

  return (webhook, body, fault) => {
    const writing = write(webhook, body, fault)
    const corrupt = fault && CORRUPTIONS[fault]
    return corrupt ? Promise.resolve(writing).then(corrupt) : writing
  }
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
