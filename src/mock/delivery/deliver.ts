import { randomUUID } from 'node:crypto'
import { Agent } from 'undici'
import { createPayload, type PayloadDetails } from '../../testing/payloads.ts'
import { createSigner, type SignedRequest, writeBody } from '../../testing/signer.ts'
import type { Webhook } from '../webhook.ts'
import { type Answer, mayReach, send } from './send.ts'
import type { SignatureOptions } from './signature-options.ts'

/** One attempt, as it was sent. */
export interface Attempt {
  id: string
  webhookId: string
  hookUrl: string
  /** Milliseconds since 1970. */
  sentAt: number
  request: SignedRequest
  /** What the receiver answered; absent where it did not. */
  answer?: Answer
  /** Why there is no answer. */
  error?: string
}

/** Sends deliveries, and keeps a record of the last thousand. */
export interface Sender {
  readonly attempts: readonly Attempt[]
  deliver(webhook: Webhook, changeTypes: readonly string[], details: PayloadDetails): Promise<Attempt>
  close(): Promise<void>
}

/** What {@link createSender} takes. */
export interface SenderOptions {
  signature: SignatureOptions
  allowHosts: readonly string[]
  clock: () => number
}

const MAX_RECORDS = 1000

export function createSender({ signature, allowHosts, clock }: SenderOptions): Sender {
  const agent = new Agent()
  const attempts: Attempt[] = []
  let closing: Promise<void> | undefined

  return {
    attempts,
    async deliver(webhook, changeTypes, details) {
      const { folderName, serviceName, serviceType, name, id, hookUrl } = webhook
      const payload = createPayload(changeTypes, {
        ...details,
        folderName,
        serviceName,
        serviceType,
        name,
        id,
      })
      const request = await write(webhook, payload, signature)
      const attempt: Attempt = { id: randomUUID(), webhookId: id, hookUrl, sentAt: clock(), request }
      attempts.push(attempt)
      if (attempts.length > MAX_RECORDS) attempts.shift()
      try {
        if (closing) throw new Error('the mock service is closed')
        if (!mayReach(hookUrl, allowHosts))
          throw new Error('the host is not on this machine and not in allowHosts')
        attempt.answer = await send(hookUrl, request, agent)
      } catch (error) {
        attempt.error = messageOf(error)
      }
      return attempt
    },
    close() {
      closing ??= agent.close()
      return closing
    },
  }
}

/** A webhook without a key sends no signature. */
async function write(webhook: Webhook, payload: object, signature: SignatureOptions): Promise<SignedRequest> {
  const { signatureKey, contentType, payloadFormat } = webhook
  if (signatureKey)
    return createSigner({ ...signature, signatureKey, contentType, payloadFormat }).sign(payload)
  return { method: 'POST', headers: { 'content-type': contentType }, body: writeBody(payload, webhook) }
}

/** The message; where no address of a name could be reached, Node leaves it empty and has one for each address. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
