import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Dialect } from '../../testing/index.ts'
import { type BodySigner, createBodySigner, type RawRequest } from '../../testing/signer.ts'
import type { FaultName } from '../faults/faults.ts'
import type { SignatureOptions } from '../presets.ts'
import type { Webhook } from '../state/webhook.ts'
import { has, type ServiceVersion } from '../versions.ts'

/** Options of {@link createRequestWriter}. */
export interface RequestOptions {
  version: ServiceVersion
  dialect: Dialect
  signature: SignatureOptions
}

/** Signs the body of a delivery, and injects faults that alter the request. */
export type RequestWriter = (
  webhook: Readonly<Webhook>,
  body: Uint8Array<ArrayBuffer>,
  fault: FaultName | undefined,
) => Promise<RawRequest>

/** @throws {WebhookError} `config_invalid` for options with which every delivery would fail */
export function createRequestWriter({ version, dialect, signature }: RequestOptions): RequestWriter {
  createBodySigner({ ...signature, signatureKey: 'any' })
  /** The `organization` dialect, always that of a portal, sends the key itself (docs/senders.md, "Three dialects"). */
  const sendsSecret = ({ serviceType }: Readonly<Webhook>): boolean =>
    serviceType === 'Portal' || dialect === 'organization'

  /**
   * Signers by webhook, because checking options and importing a key is slow. Signers never become stale, because an
   * edit replaces the webhook object.
   */
  const signers = new WeakMap<Readonly<Webhook>, BodySigner>()

  function signerOf(webhook: Readonly<Webhook>, signatureKey: string): BodySigner {
    const { contentType } = webhook
    const known = signers.get(webhook)
    if (known && signatureKey === webhook.signatureKey) return known
    const signer = createBodySigner({ ...signature, contentType, signatureKey })
    if (signatureKey === webhook.signatureKey) signers.set(webhook, signer)
    return signer
  }

  async function write(
    webhook: Readonly<Webhook>,
    body: Uint8Array<ArrayBuffer>,
    signatureKey: string,
  ): Promise<RawRequest> {
    if (signatureKey && !sendsSecret(webhook) && has(version, 'signature'))
      return signerOf(webhook, signatureKey)(body)
    const headers: Record<string, string> = { 'content-type': webhook.contentType }
    if (signatureKey && sendsSecret(webhook)) headers.secret = signatureKey
    return { method: 'POST', headers, body }
  }

  return async (webhook, body, fault) => {
    const request = await write(webhook, body, keyOf(webhook, fault))
    const corrupt = fault && CORRUPTIONS[fault]
    return corrupt ? corrupt(request) : request
  }
}

/** @returns an empty string for an unsigned request */
function keyOf({ signatureKey }: Readonly<Webhook>, fault: FaultName | undefined): string {
  if (fault === 'wrong_key') return randomBytes(32).toString('hex')
  return fault === 'unsigned' ? '' : signatureKey
}

/** Faults applied after signing. */
const CORRUPTIONS: { [fault in FaultName]?: (request: RawRequest) => RawRequest } = {
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
