import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { verify } from '../../index.ts'
import { isObject, tryJson } from '../../shared/json.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { Connection } from './connect.ts'
import type { Findings } from './verdicts.ts'

/** Milliseconds for a TLS handshake, or for the response to a handshake. */
const TIMEOUT = 10_000

const FROM_HERE = 'seen from this machine'

/** Opens a TLS connection to the host of a payload URL, and sends no request. */
export async function probeTls(url: URL, trust: Trust, found: Findings): Promise<void> {
  if (url.protocol !== 'https:') {
    found.notes.push('its certificate was not checked, because the payload URL is not https')
    return
  }
  try {
    const error = await certificateErrorOf(url, trust)
    if (error !== undefined)
      found.add('certificate', `${FROM_HERE}, the certificate of ${url.host} is not valid: ${error}`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    found.reasons.push(`${FROM_HERE}, ${url.host} accepts no TLS connection: ${code ?? message}`)
  }
}

function certificateErrorOf({ hostname, port }: URL, trust: Trust): Promise<string | undefined> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const name = isIP(host) ? {} : { servername: host }
  const options = { host, port: Number(port) || 443, secureContext: trust(), rejectUnauthorized: false }
  return new Promise((resolve, reject) => {
    const socket = connect({ ...options, ...name }, () => {
      resolve(socket.authorized ? undefined : String(socket.authorizationError))
      socket.destroy()
    }).on('error', reject)
    const late = (): unknown => socket.destroy(new Error(`no TLS handshake within ${TIMEOUT} ms`))
    const timer = setTimeout(late, TIMEOUT)
    socket.once('close', () => clearTimeout(timer))
  })
}

/** Sends the handshake of ArcGIS Online with a random token (docs/senders.md, "Handshake"). */
export async function probeHandshake(
  url: URL,
  keys: readonly string[],
  fetch: Connection['fetch'],
  found: Findings,
): Promise<void> {
  const token = randomBytes(16).toString('hex')
  const target = new URL(url)
  // searchParams.append() would encode the rest of the query in another way.
  target.search = `${url.search === '' ? '?' : `${url.search}&`}crc_token=${token}`
  const response = await fetch(target, { signal: AbortSignal.timeout(TIMEOUT) }).catch(() => undefined)
  if (!response) {
    found.reasons.push(`${FROM_HERE}, ${url.host} does not respond to the handshake`)
    return
  }
  const answer = tryJson(await response.text())
  const signature = isObject(answer) && typeof answer.response_token === 'string' ? answer.response_token : ''
  const { ok } = await verify({ body: token, signature, signatureKey: [...keys] })
  if (ok && response.ok) return
  const what = signature === '' ? 'no response_token' : ok ? 'the right token' : 'a token of another key'
  found.add(
    'handshake',
    `${FROM_HERE}, ${url.host} responds to the handshake with status ${response.status} and ${what}`,
  )
}
