import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { WebhookEvent } from 'geohook'
import { serve } from '../../helpers/served.ts'
import { toEvent } from '../support.ts'

/** A request that a server got. */
export interface Got {
  method: string
  path: string
  /** The URL, the headers and the body, to search for a token. */
  all: string
}

export interface Hostile {
  url: string
  origin: string
  got: Got[]
  event: WebhookEvent
}

/** A response: JSON, or a function that writes it. */
export type Reply = object | ((res: ServerResponse, origin: string, req: IncomingMessage) => unknown)

/**
 * Starts a server that answers requests by the last part of their path: `extractChanges`, `status` or `file`. Without a
 * reply, `extractChanges` and `status` lead on to the file, which has one deletion.
 */
export async function startHostile(replies: Record<string, Reply> = {}): Promise<Hostile> {
  const got: Got[] = []
  const server = await serve(async (req, res) => {
    const { method = '', url = '', headers } = req
    const path = url.split('?')[0] ?? ''
    got.push({ method, path, all: `${url} ${JSON.stringify(headers)} ${await text(req)}` })
    const name = path.split('/').at(-1) ?? ''
    const reply = replies[name] ??
      defaultReplies(server.url)[name] ?? { error: { code: 404, message: 'none' } }
    if (typeof reply === 'function') await reply(res, server.url, req)
    else res.setHeader('content-type', 'application/json').end(JSON.stringify(reply))
  })
  const url = `${server.url}/rest/services/Parcels/FeatureServer`
  return { url, origin: server.url, got, event: toEvent(`${url}/extractChanges?serverGens=[1,2]`) }
}

const defaultReplies = (origin: string): Record<string, object> => ({
  extractChanges: { statusUrl: `${origin}/status` },
  status: { status: 'Completed', resultUrl: `${origin}/file` },
  file: DOCUMENT,
})

export const DOCUMENT = {
  layerServerGens: [{ id: 0, serverGen: 2 }],
  edits: [{ id: 0, features: { deleteIds: ['A'] } }],
}

/** Answers with a status and a text. */
export const raw =
  (status: number, body: string | Uint8Array, headers: Record<string, string> = {}): Reply =>
  (res) =>
    res.writeHead(status, headers).end(body)

/** Redirects to a URL. */
export const redirect =
  (location: string, status = 302): Reply =>
  (res, origin) =>
    res.writeHead(status, { location: location.replace('ORIGIN', origin) }).end()
