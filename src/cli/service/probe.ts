import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { verify } from '../../index.ts'
import { isObject, tryJson } from '../../shared/json.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import type { Connection } from './connect.ts'
import type { Findings } from './verdicts.ts'

/** Milliseconds for a TLS handshake, or for the response to a handshake. */
const TIMEOUT = 10_000

/** Opens a TLS connection to the host of a payload URL, and sends no request. */
export async function probeTls({ host, hostname, port }: URL, trust: Trust, found: Findings): Promise<void> {
  const name = hostname.replace(/^\[|\]$/g, '')
  const server = { host: name, port: Number(port) || 443, servername: isIP(name) ? '' : name }
  const socket = connect({ ...server, secureContext: trust(), rejectUnauthorized: false })
  socket.setTimeout(TIMEOUT, () => socket.destroy(new Error(`no TLS handshake within ${TIMEOUT} ms`)))
  try {
    await once(socket, 'secureConnect')
    const { authorized, authorizationError } = socket
    if (!authorized)
      found.add(
        'certificate',
        `seen from this machine, the certificate of ${host} is not valid: ${authorizationError}`,
      )
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    found.doubts.push(`seen from this machine, ${host} accepts no TLS connection: ${code ?? message}`)
  } finally {
    socket.destroy()
  }
}

/**
 * Sends the handshake of ArcGIS Online with a random token (docs/senders.md, "Handshake"). Returns what is wrong with the
 * response, if it is.
 */
export async function findHandshakeProblem(
  url: URL,
  keys: readonly string[],
  fetch: Connection['fetch'],
): Promise<string | undefined> {
  const token = randomBytes(16).toString('hex')
  const target = new URL(url)
  // searchParams.append() would encode the rest of the query in another way.
  target.search = `${url.search === '' ? '?' : `${url.search}&`}crc_token=${token}`
  const response = await fetch(target, { signal: AbortSignal.timeout(TIMEOUT) }).catch(() => undefined)
  if (!response) return 'does not respond to the handshake'
  if (!response.ok) return `responds to the handshake with status ${response.status}`
  const answer = tryJson(await response.text())
  const signature = isObject(answer) && typeof answer.response_token === 'string' ? answer.response_token : ''
  const { ok } = await verify({ body: token, signature, signatureKey: [...keys] })
  return ok ? undefined : 'responds to the handshake without a token of the given keys'
}
