import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as secureConnect } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { issue, issueCa, serveSecurely } from '../../helpers/certificates.ts'
import { geohook, parseEvents, startGeohook } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { findPort } from '../../helpers/port.ts'
import { createPage, onlyId, textOf } from '../../inspector/helpers/reception-support.ts'
import { createCaFolder, listenSecurely } from './https-support.ts'

const { geohook: run } = useGeohook()

const SEND = ['send', '--change-type', 'FeaturesCreated', '--to']
const NOT_TRUSTED =
  /^error: the certificate of https:\/\/127\.0\.0\.1:\d+ is not trusted \(\w+\): start .* --ca/

describe('geohook listen --https', () => {
  it('receives from senders of geohook without options, and prints the CA for others', async () => {
    const { env, current } = createCaFolder()
    const { url, port, listener } = await listenSecurely(['--save', join(current, '..', 'captures')], env)
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/$/)
    const path = join(current, 'cert.pem')
    expect(listener.stdout).toContain(`CA certificate ${path} (for curl --cacert`)
    for (const host of ['127.0.0.1', 'localhost'])
      expect(await run([...SEND, `https://${host}:${port}/`], { env })).toMatchObject({ code: 0, stderr: '' })
    const replayed = await run(['replay', join(current, '..', 'captures'), '--to', url], { env })
    expect(replayed).toMatchObject({ code: 0, stderr: '' })
    const other = { SIGNATURE_KEY: KEY, GEOHOOK_CA_DIR: join(current, 'none') }
    const refused = await run([...SEND, url], { env: other })
    expect(refused.code).toBe(3)
    expect(refused.stderr).toMatch(NOT_TRUSTED)
    const replay = await run(['replay', join(current, '..', 'captures'), '--to', url], { env: other })
    expect(replay).toMatchObject({ code: 3, stdout: expect.stringContaining('is not trusted') })
    expect(await run([...SEND, url, '--ca', path], { env: other })).toMatchObject({ code: 0 })
  })

  it('is trusted by a mock that was started before, and by programs with NODE_EXTRA_CA_CERTS', async () => {
    const { env, current } = createCaFolder()
    const mock = startGeohook(['mock', '--port', '0'], { env })
    onTestFinished(async () => void (await mock.stop()))
    const [, service = ''] = await mock.printed(/(http:\/\/[\d.:]+)/)
    const { url } = await listenSecurely([], env)
    const services = { ...env, GEOHOOK_URL: service }
    const created = ['create', 'Parcels.FeatureServer', '--name', 'a', '--hook-url', url, '--key', KEY]
    expect(await run(created, { env: services })).toMatchObject({ code: 0 })
    const triggered = await run(['trigger', 'Parcels.FeatureServer', 'FeaturesCreated'], { env: services })
    expect(triggered).toMatchObject({ code: 0, stderr: '' })
    // Own certificates are added to those of Node, and do not replace them.
    const file = join(current, '..', 'other.pem')
    writeFileSync(file, (await issueCa()).cert)
    const extra = {
      SIGNATURE_KEY: KEY,
      GEOHOOK_CA_DIR: join(current, 'none'),
      NODE_EXTRA_CA_CERTS: join(current, 'cert.pem'),
    }
    expect(await geohook([...SEND, url, '--ca', file], { env: extra })).toMatchObject({ code: 0 })
  })

  it('with --json, prints the path of the CA certificate, and why handshakes failed, once each', async () => {
    const { env, current } = createCaFolder()
    const { port, listener } = await listenSecurely(['--json'], env)
    const [listening] = parseEvents(listener)
    expect(listening).toEqual({
      event: 'listening',
      url: `https://127.0.0.1:${port}/`,
      ca: join(current, 'cert.pem'),
    })
    for (let count = 0; count < 2; count++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.end('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n').resume()
      await once(socket, 'close')
    }
    await listener.printed(/plain HTTP/)
    const { url } = await listenSecurely([], env)
    expect(await run([...SEND, url], { env })).toMatchObject({ code: 0 })
    const events = parseEvents(listener).slice(1)
    expect(events).toEqual([
      { event: 'tls_error', code: 'ERR_SSL_HTTP_REQUEST', reason: expect.stringContaining('https://') },
    ])
  })

  it('stops although a client does not finish its handshake', async () => {
    const { env } = createCaFolder()
    const { port, listener } = await listenSecurely([], env)
    const started = performance.now()
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    // When a later connection is accepted, this one is as well.
    const later = secureConnect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    onTestFinished(() => void later.destroy())
    await once(later, 'secureConnect')
    expect(await listener.stop('SIGINT')).toBe(0)
    // The server itself closes an unfinished handshake after 10 s.
    expect(performance.now() - started).toBeLessThan(9_900)
  })

  it('serves a certificate of the user with --tls-cert and --tls-key, without creating a CA', async () => {
    const { path, env, current } = createCaFolder()
    const ca = await issueCa()
    const certificate = await issue({ issuer: ca, dns: ['localhost'], ip: [] })
    const files = { cert: join(path, 'a.pem'), key: join(path, 'a.key'), ca: join(path, 'ca.pem') }
    writeFileSync(files.cert, certificate.cert)
    writeFileSync(files.key, certificate.key)
    writeFileSync(files.ca, ca.cert)
    const { port, url, listener } = await listenSecurely(
      ['--tls-cert', files.cert, '--tls-key', files.key],
      env,
    )
    expect(listener.stdout).not.toContain('CA certificate')
    expect(await run([...SEND, `https://localhost:${port}/`, '--ca', files.ca], { env })).toMatchObject({
      code: 0,
    })
    const refused = await run([...SEND, url, '--ca', files.ca], { env })
    expect(refused.code).toBe(3)
    expect(refused.stderr).toMatch(/is for another host .* \(DNS:localhost\)/)
    expect(await run(['listen', '--ca', join(current, 'cert.pem')], { env })).toMatchObject({ code: 2 })
  })

  it('rejects certificates and keys that do not fit, and never quotes the key', async () => {
    const { path, env } = createCaFolder()
    const [one, two] = [await issue(), await issue()]
    const file = (name: string, content: string): string => {
      writeFileSync(join(path, name), content)
      return join(path, name)
    }
    const cert = file('one.pem', one.cert)
    const key = file('one.key', one.key)
    const cases: [string[], RegExp][] = [
      [['--https', '--tls-cert', cert], /--tls-cert and --tls-key require each other/],
      [['--https', '--tls-key', key], /--tls-cert and --tls-key require each other/],
      [['--tls-cert', cert, '--tls-key', key], /--tls-cert requires --https/],
      [['--https', '--tls-cert', cert, '--tls-key', file('two.key', two.key)], /does not belong to/],
      [['--https', '--tls-cert', key, '--tls-key', key], /is not a certificate in PEM/],
      [['--https', '--tls-cert', cert, '--tls-key', cert], /is not a private key in PEM/],
      [['--https', '--tls-cert', cert, '--tls-key', one.key], /cannot read the file of --tls-key/],
      [['--https', '--tls-cert', join(path, 'none'), '--tls-key', key], /cannot read .*none: no such file/],
      [['--ca', cert], /--ca requires --forward-to or --inspect/],
      [['--forward-to', 'https://localhost/', '--ca', key], /one\.key contains no certificate/],
      [['--https', '--host', '192.0.2.1'], /the local CA certifies only this machine .* not 192\.0\.2\.1/],
    ]
    for (const [args, expected] of cases) {
      const { code, stderr } = await run(['listen', '--port', '0', ...args], { env })
      expect([args, code]).toEqual([args, 2])
      expect(stderr).toMatch(expected)
      expect(stderr).not.toContain('PRIVATE KEY')
    }
  })

  it('listens on every address as localhost', async () => {
    const { env } = createCaFolder()
    const { url } = await listenSecurely(['--host', '0.0.0.0'], env)
    expect(url).toMatch(/^https:\/\/localhost:\d+\/$/)
    expect(await run([...SEND, url], { env })).toMatchObject({ code: 0 })
    const other = await listenSecurely(['--host', '127.0.0.2'], env)
    expect(other.url).toContain('https://127.0.0.2:')
    expect(await run([...SEND, other.url], { env })).toMatchObject({ code: 0 })
  })

  it('forwards to https targets that it trusts, and names the fix for others', async () => {
    const { path, env } = createCaFolder()
    const ca = await issueCa()
    const target = await serveSecurely(await issue({ issuer: ca }), (_req, res) => res.writeHead(201).end())
    writeFileSync(join(path, 'ca.pem'), ca.cert)
    const trusting = await listenSecurely(['--forward-to', target.url, '--ca', join(path, 'ca.pem')], env)
    expect(await run([...SEND, trusting.url, '--json'], { env })).toMatchObject({ code: 0 })
    await trusting.listener.printed(/forwarded: answered 201/)
    const other = await listenSecurely(['--forward-to', target.url], env)
    expect(await run([...SEND, other.url], { env })).toMatchObject({ code: 1 })
    await other.listener.printed(/forwarded: the certificate of .* is not trusted .* --ca/)
    const port = String(await findPort())
    for (const host of ['localhost', '127.0.0.1']) {
      const loop = ['listen', '--https', '--port', port, '--forward-to', `https://${host}:${port}/`]
      const { code, stderr } = await run(loop, { env })
      expect([code, stderr]).toEqual([2, expect.stringContaining('is the address of the listener itself')])
    }
  })

  it('sends requests again to itself from the page of --inspect', async () => {
    const { env } = createCaFolder()
    const { url, listener } = await listenSecurely(['--inspect', '0'], env)
    const [, inspector = ''] = await listener.printed(/inspector on (http:\/\/127\.0\.0\.1:\d+)\/\n/)
    expect(await run([...SEND, url], { env })).toMatchObject({ code: 0 })
    const page = createPage(inspector)
    const id = await onlyId(page)
    const again = await page.submit(`/deliveries/${id}/resend`, { to: url })
    expect(textOf(again.text)).toContain(`${url} answered 200 in `)
  })

  it('loads the package that issues certificates only with --https', async () => {
    const { path, env } = createCaFolder()
    const hook = join(path, 'hook.cjs')
    writeFileSync(
      hook,
      `process.on('exit', () => {
         const loaded = Object.keys(require.cache).filter((file) => /@peculiar|reflect-metadata/.test(file))
         process.stderr.write('loaded ' + (loaded.length > 0) + '\\n')
       })`,
    )
    const options = { env: { ...env, NODE_OPTIONS: `--require ${JSON.stringify(hook)}` } }
    for (const args of [
      ['listen', '--port', '0'],
      ['mock', '--port', '0'],
      ['listen', '--port', '0', '--https'],
    ]) {
      const started = startGeohook(args, options)
      await started.printed(/ on https?:/)
      await started.stop('SIGINT')
      expect([args, started.stderr]).toEqual([args, `loaded ${args.includes('--https')}\n`])
    }
  })

  it('verifies the signature of a request over TLS', async () => {
    const { env, current } = createCaFolder()
    const { url, listener } = await listenSecurely(['--count', '1'], env)
    const body = payloadOf('FeaturesCreated')
    const request = join(current, '..', 'body.json')
    writeFileSync(request, body)
    const header = `x-service: ${signatureOf(`${body}\n`)}`
    const { code } = await run(
      ['send', request, '--to', url, '--signature-header', 'x-other', '--header', header],
      { env },
    )
    expect(code).toBe(1)
    expect(await listener.exited).toBe(1)
    expect(listener.stdout).toContain('signature_mismatch')
  })
})
