import { EventEmitter, once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createReceiver, type ReceiverOptions } from 'geohook'
import type { MockService, Notice, Webhook } from 'geohook/mock'
import { webhook } from 'geohook/node'
import { base64Of, KEY } from '../../helpers/deliver.ts'
import { serve } from '../../helpers/served.ts'
import { type Captured, FEATURE, seed } from '../support.ts'
import { PLAIN } from './support.ts'

/** A second webhook of the same service. */
export const OTHER_ID = '7d0f3f0e-0d4f-4b76-9b0b-1f1c8f3a5b11'

/** A webhook that sends at once. */
export const toHook = (hookUrl: string, changes: Partial<Webhook> = {}): Webhook =>
  seed(PLAIN, { hookUrl, ...changes })

/** A receiver of geohook with the profile `arcgis`, and what it handled. */
export interface ArcgisReceiver {
  url: string
  /** Change types of the handled events. */
  handled: string[]
  /** Paths of the handshakes that it answered, with their queries. */
  handshakes: string[]
}

export async function arcgisReceiver(options: Partial<ReceiverOptions> = {}): Promise<ArcgisReceiver> {
  const handled: string[] = []
  const handshakes: string[] = []
  const observer = { refused() {}, failed() {} }
  const hook = createReceiver({
    profile: 'arcgis',
    signatureKey: KEY,
    observer,
    ...options,
  } as ReceiverOptions)
  hook.on('*', ({ changeType }) => void handled.push(changeType ?? ''))
  const respond = webhook(hook)
  const { url } = await serve((req, res) => {
    if (req.method === 'GET') handshakes.push(req.url ?? '')
    return respond(req, res)
  })
  return { url: `${url}/hook`, handled, handshakes }
}

/** The right answer to a handshake. */
export const rightAnswer = (url = '', key = KEY): string =>
  JSON.stringify({ response_token: `sha256=${base64Of(tokenOf(url), key)}` })

export const tokenOf = (url = ''): string => new URL(url, 'http://x').searchParams.get('crc_token') ?? ''

/** A receiver that answers handshakes with `answer`, and any delivery with 200. */
export async function handshaker(answer: RequestListener): Promise<{ url: string; requests: Captured[] }> {
  const requests: Captured[] = []
  const { url } = await serve(async (req, res) => {
    const { method = '', url: path = '', headers } = req
    const parts: Buffer[] = []
    for await (const part of req) parts.push(part as Buffer)
    requests.push({ method, url: path, headers, body: Buffer.concat(parts) })
    if (method === 'GET') answer(req, res)
    else res.end()
  })
  return { url: `${url}/hook`, requests }
}

export const methodsOf = (requests: readonly Captured[]): string =>
  requests.map(({ method }) => method).join(' ')

/** The notices of a service that are about handshakes, in short. */
export interface Heard {
  /** For example `ok`, `failed: status 405`, `2 not sent: status 405`. */
  notices: string[]
  /** Resolves when this number of notices has arrived in total. */
  heard(count: number): Promise<void>
}

export function hear(service: MockService): Heard {
  const notices: string[] = []
  const emitter = new EventEmitter()
  service.on((notice: Notice) => {
    const of = 'webhookId' in notice && notice.webhookId !== FEATURE.id ? `${notice.name}: ` : ''
    if (notice.type === 'handshake') notices.push(`${of}${notice.ok ? 'ok' : `failed: ${notice.reason}`}`)
    else if (notice.type === 'not_sent') notices.push(`${of}${notice.events} not sent: ${notice.reason}`)
    emitter.emit('notice')
  })
  return {
    notices,
    async heard(count) {
      while (notices.length < count) await once(emitter, 'notice')
    },
  }
}
