import { randomBytes } from 'node:crypto'
import { arcgis, type Profile } from '../../signature/profiles.ts'
import { sign } from '../../signature/signature.ts'
import type { Webhook } from '../state/webhook.ts'
import { messageOf } from './attempt.ts'
import { type Answer, MAX_ANSWER, type OutgoingRequest, type Target } from './http-client.ts'

/** Seconds that a receiver has to answer a handshake (docs/senders.md, "Handshake"). */
const SECONDS = 5
/** Maximum length of a reason. Only the message of a connection error can be longer. */
const MAX_REASON = 256

const { parameter, member } = arcgis.handshake as NonNullable<Profile['handshake']>

/** Sends a handshake request. Rejects if there is no response. */
export type SendRequest = (target: Target, request: OutgoingRequest, seconds: number) => Promise<Answer>

/**
 * Sends a handshake to a receiver: a GET request with a random token, which the receiver must sign with the key of the
 * webhook (docs/senders.md, "Handshake"). Never rejects.
 *
 * @returns why it failed, in words that contain no key; undefined if it succeeded
 */
export async function makeHandshake(
  { signatureKey }: Readonly<Webhook>,
  target: Target,
  send: SendRequest,
): Promise<string | undefined> {
  const token = randomBytes(24).toString('base64url')
  const path = `${target.path}${target.path.includes('?') ? '&' : '?'}${parameter}=${token}`
  const headers = { host: target.host, accept: 'application/json' }
  try {
    const body = new Uint8Array()
    const answer = await send({ ...target, path }, { method: 'GET', headers, body }, SECONDS)
    const signature = await sign({ body: token, signatureKey, encoding: 'base64', prefix: 'sha256=' })
    return findMistake(answer, signature)
  } catch (error) {
    return messageOf(error).slice(0, MAX_REASON)
  }
}

/** @returns undefined if the response contains the signature */
function findMistake({ status, body }: Answer, signature: string): string | undefined {
  if (status >= 300 && status < 400) return `status ${status}: redirects are not followed`
  if (status !== 200) return `status ${status}`
  if (Buffer.byteLength(body) >= MAX_ANSWER) return 'the answer has 64 KiB or more'
  const answer = parseObject(body)
  if (!answer) return 'the answer is not a JSON object'
  if (!Object.hasOwn(answer, member)) return `the answer has no ${member}`
  if (typeof answer[member] !== 'string') return `${member} is not a string`
  if (answer[member] === signature) return undefined
  return answer[member].startsWith('sha256=')
    ? 'the signature is wrong'
    : `${member} does not begin with sha256=`
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** True for a webhook with a key. A portal announces its webhooks with a registration instead. */
export const needsHandshake = (webhook: Readonly<Webhook> | undefined): webhook is Readonly<Webhook> =>
  webhook !== undefined && webhook.signatureKey !== '' && webhook.serviceType !== 'Portal'
