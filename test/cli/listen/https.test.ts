import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as secureConnect } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { issue, issueCa, serveSecurely } from '../../helpers/certificates.ts'
import { geohook, parseEvents, type Running, startGeohook, startProcess } from '../../helpers/cli.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { findPort } from '../../helpers/port.ts'
import { hasProgram } from '../../helpers/programs.ts'
import { createPage, onlyId, textOf } from '../../inspector/helpers/request-log-support.ts'

const env = { SIGNATURE_KEY: KEY }
const SEND = ['send', '--change-type', 'FeaturesCreated', '--to']
const NOT_TRUSTED =
  /^error: the certificate of https:\/\/127\.0\.0\.1:\d+ is not trusted \(\w+\): give .* --ca/

interface Folder {
  path: string
  file(name: string, content: string): string
  /** A certificate for this machine, its key, and its CA. */
  cert: string
  key: string
  ca: string
}

function createFolder(dns: readonly string[] = ['localhost'], ip?: readonly string[]): Folder {
  const path = mkdtempSync(join(tmpdir(), 'geohook-tls-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const file = (name: string, content: string): string => {
    writeFileSync(join(path, name), content)
    return join(path, name)
  }
  const ca = issueCa()
  const { cert, key } = issue({ issuer: ca, dns, ...(ip && { ip }) })
  return {
    path,
    file,
    cert: file('cert.pem', cert),
    key: file('key.pem', key),
    ca: file('ca.pem', ca.cert),
  }
}

/** Starts `geohook listen` with a certificate on a free port, until the test ends. */
async function listenSecurely(
  { cert, key }: Pick<Folder, 'cert' | 'key'>,
  args: readonly string[] = [],
): Promise<{ url: string; port: number; listener: Running }> {
  const listener = startGeohook(['listen', '--tls-cert', cert, '--tls-key', key, '--port', '0', ...args], {
    env,
  })
  onTestFinished(async () => void (await listener.stop()))
  const [, url = ''] = await listener.printed(/(https:\/\/[^\s"]+)/)
  return { url, port: Number(new URL(url).port), listener }
}

describe('geohook listen --tls-cert --tls-key', () => {
  it('receives from senders that trust the CA of the certificate', async () => {
    const folder = createFolder()
    const captures = join(folder.path, 'captures')
    const { url, port } = await listenSecurely(folder, ['--save', captures])
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/$/)
    for (const host of ['127.0.0.1', 'localhost']) {
      const sent = await geohook([...SEND, `https://${host}:${port}/`, '--ca', folder.ca], { env })
      expect(sent).toMatchObject({ code: 0, stderr: '' })
    }
    const replayed = await geohook(['replay', captures, '--to', url, '--ca', folder.ca], { env })
    expect(replayed).toMatchObject({ code: 0, stderr: '' })
    const refused = await geohook([...SEND, url], { env })
    expect(refused.code).toBe(3)
    expect(refused.stderr).toMatch(NOT_TRUSTED)
    const replay = await geohook(['replay', captures, '--to', url], { env })
    expect(replay).toMatchObject({ code: 3, stdout: expect.stringContaining('is not trusted') })
  })

  it('receives from a mock with --ca, and from programs with NODE_EXTRA_CA_CERTS', async () => {
    const folder = createFolder()
    const { url } = await listenSecurely(folder)
    const mock = startGeohook(['mock', '--port', '0', '--ca', folder.ca], { env })
    onTestFinished(async () => void (await mock.stop()))
    const [, service = ''] = await mock.printed(/(http:\/\/[\d.:]+)/)
    const services = { ...env, GEOHOOK_URL: service }
    const created = ['create', 'Parcels.FeatureServer', '--name', 'a', '--hook-url', url, '--key', KEY]
    expect(await geohook(created, { env: services })).toMatchObject({ code: 0 })
    const triggered = await geohook(['trigger', 'Parcels.FeatureServer', 'FeaturesCreated'], {
      env: services,
    })
    expect(triggered).toMatchObject({ code: 0, stderr: '' })
    // Own certificates are added to those of Node, and do not replace them.
    const other = folder.file('other.pem', issueCa().cert)
    const extra = { ...env, NODE_EXTRA_CA_CERTS: folder.ca }
    expect(await startProcess([...SEND, url, '--ca', other], { env: extra }).exited).toBe(0)
  })

  it('with --json, prints why handshakes failed, once each', async () => {
    const folder = createFolder()
    const { url, port, listener } = await listenSecurely(folder, ['--json'])
    for (let count = 0; count < 2; count++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.end('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n').resume()
      await once(socket, 'close')
    }
    await listener.printed(/plain HTTP/)
    expect(await geohook([...SEND, url, '--ca', folder.ca], { env })).toMatchObject({ code: 0 })
    await listener.printed(/"verified"/)
    expect(parseEvents(listener)).toEqual([
      { event: 'listening', url: `https://127.0.0.1:${port}/` },
      { event: 'tls_error', code: 'ERR_SSL_HTTP_REQUEST', reason: expect.stringContaining('https://') },
      expect.objectContaining({ event: 'request', finding: 'verified' }),
    ])
  })

  it.skipIf(!hasProgram('curl'))('reports a sender that does not accept the certificate', async () => {
    const { url, listener } = await listenSecurely(createFolder())
    const [error] = await once(execFile('curl', ['-s', url]), 'exit')
    expect(error).toBe(60) // the certificate is not trusted
    await listener.printed(
      /A sender did not accept the certificate .*: it must trust the CA of your certificate/,
    )
  })

  it('stops although a client does not finish its handshake', async () => {
    const { port, listener } = await listenSecurely(createFolder())
    const started = performance.now()
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    // When a later connection is accepted, this one is as well.
    const later = secureConnect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    onTestFinished(() => void later.destroy())
    await once(later, 'secureConnect')
    expect(await listener.stop()).toBe(0)
    // The server itself closes an unfinished handshake after 10 s.
    expect(performance.now() - started).toBeLessThan(9_900)
  })

  it('serves a certificate for another host, which senders refuse', async () => {
    const folder = createFolder(['localhost'], [])
    const { port, url } = await listenSecurely(folder)
    const sent = await geohook([...SEND, `https://localhost:${port}/`, '--ca', folder.ca], { env })
    expect(sent).toMatchObject({ code: 0 })
    const refused = await geohook([...SEND, url, '--ca', folder.ca], { env })
    expect(refused.code).toBe(3)
    expect(refused.stderr).toMatch(/is for another host .* \(DNS:localhost\)/)
  })

  it('rejects certificates and keys that do not fit, and never quotes the key', async () => {
    const { path, file, cert, key } = createFolder()
    const text = readFileSync(key, 'utf8')
    const cases: [string[], RegExp][] = [
      [['--tls-cert', cert], /--tls-cert requires --tls-key/],
      [['--tls-key', key], /--tls-key requires --tls-cert/],
      [['--tls-cert', cert, '--tls-key', file('two.key', issue().key)], /does not belong to/],
      [['--tls-cert', key, '--tls-key', key], /is not a certificate in PEM/],
      [['--tls-cert', cert, '--tls-key', cert], /is not a private key in PEM/],
      [['--tls-cert', cert, '--tls-key', text], /cannot read the file of --tls-key/],
      [['--tls-cert', join(path, 'none'), '--tls-key', key], /cannot read .*none: no such file/],
      [['--ca', cert], /--ca requires --forward-to or --inspect, or --register/],
      [['--forward-to', 'https://localhost/', '--ca', key], /key\.pem contains no certificate/],
    ]
    for (const [args, expected] of cases) {
      const { code, stderr } = await geohook(['listen', '--port', '0', ...args], { env })
      expect([args, code]).toEqual([args, 2])
      expect(stderr).toMatch(expected)
      expect(stderr).not.toContain('PRIVATE KEY')
    }
  })

  it('listens on every address as localhost', async () => {
    const folder = createFolder()
    const { url } = await listenSecurely(folder, ['--host', '0.0.0.0'])
    expect(url).toMatch(/^https:\/\/localhost:\d+\/$/)
    expect(await geohook([...SEND, url, '--ca', folder.ca], { env })).toMatchObject({ code: 0 })
  })

  it('forwards to https targets that it trusts, and names the fix for others', async () => {
    const folder = createFolder()
    const other = issueCa()
    const target = await serveSecurely(issue({ issuer: other }), (_req, res) => res.writeHead(201).end())
    const trusted = folder.file('other.pem', other.cert)
    const trusting = await listenSecurely(folder, ['--forward-to', target.url, '--ca', trusted])
    expect(await geohook([...SEND, trusting.url, '--ca', folder.ca], { env })).toMatchObject({ code: 0 })
    await trusting.listener.printed(/forwarded: answered 201/)
    const refusing = await listenSecurely(folder, ['--forward-to', target.url])
    expect(await geohook([...SEND, refusing.url, '--ca', folder.ca], { env })).toMatchObject({ code: 1 })
    await refusing.listener.printed(/forwarded: the certificate of .* is not trusted .* --ca/)
    const port = String(await findPort())
    for (const host of ['localhost', '127.0.0.1']) {
      const tls = ['--tls-cert', folder.cert, '--tls-key', folder.key]
      const loop = ['listen', ...tls, '--port', port, '--forward-to', `https://${host}:${port}/`]
      const { code, stderr } = await geohook(loop, { env })
      expect([code, stderr]).toEqual([2, expect.stringContaining('is the address of the listener itself')])
    }
  })

  it('sends requests again to itself from the page of --inspect', async () => {
    const folder = createFolder()
    const { url, listener } = await listenSecurely(folder, ['--inspect', '0', '--ca', folder.ca])
    const [, inspector = ''] = await listener.printed(/inspector on (http:\/\/127\.0\.0\.1:\d+)\/\n/)
    expect(await geohook([...SEND, url, '--ca', folder.ca], { env })).toMatchObject({ code: 0 })
    const page = createPage(inspector)
    const id = await onlyId(page)
    const again = await page.submit(`/deliveries/${id}/resend`, { to: url })
    expect(textOf(again.text)).toContain(`${url} answered 200 in `)
  })

  it('verifies the signature of a request over TLS', async () => {
    const folder = createFolder()
    const { url, listener } = await listenSecurely(folder, ['--count', '1'])
    const body = payloadOf('FeaturesCreated')
    const request = folder.file('body.json', body)
    const header = `x-service: ${signatureOf(`${body}\n`)}`
    const { code } = await geohook(
      ['send', request, '--to', url, '--ca', folder.ca, '--signature-header', 'x-other', '--header', header],
      { env },
    )
    expect(code).toBe(1)
    expect(await listener.exited).toBe(1)
    expect(listener.stdout).toContain('signature_mismatch')
  })
})
