import { execFileSync, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { type Certificate, issue, issueCa, serveSecurely } from '../../helpers/certificates.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { createCaFolder, listenSecurely } from './https-support.ts'

const { geohook: run } = useGeohook()

const isInstalled = (program: string, argument: string): boolean =>
  spawnSync(program, [argument]).status === 0

const SEND = ['send', '--change-type', 'FeaturesCreated', '--to']
const DAY = 86_400_000

function store(folder: string, { cert, key }: Certificate): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'cert.pem'), cert, { mode: 0o600 })
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 })
}

const load = (folder: string): Certificate => ({
  cert: readFileSync(join(folder, 'cert.pem'), 'utf8'),
  key: readFileSync(join(folder, 'key.pem'), 'utf8'),
})

/** Returns the certificate that a server presents to a client that trusts `ca`. */
async function certificateOf(port: number, { cert: ca }: Certificate): Promise<X509Certificate> {
  const socket = connect(port, '127.0.0.1', { servername: 'localhost', ca })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  socket.destroy()
  return certificate as X509Certificate
}

const daysLeft = ({ validTo }: X509Certificate): number => (Date.parse(validTo) - Date.now()) / DAY

describe('the local CA', () => {
  it('is created once, and only its owner can read it; each start has a new certificate', async () => {
    const { path, env, current } = createCaFolder()
    const first = await listenSecurely([], env)
    const files = load(current)
    const second = await listenSecurely([], env)
    expect(load(current)).toEqual(files)
    expect(readdirSync(path)).toEqual(['current'])
    expect(statSync(current).mode & 0o777).toBe(0o700)
    for (const name of ['cert.pem', 'key.pem']) expect(statSync(join(current, name)).mode & 0o777).toBe(0o600)
    const ca = new X509Certificate(files.cert)
    expect(ca.ca).toBe(true)
    expect(daysLeft(ca)).toBeCloseTo(365, 1)
    const certificates = await Promise.all([first, second].map(({ port }) => certificateOf(port, files)))
    for (const certificate of certificates) {
      expect(certificate.subjectAltName).toBe(
        'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
      )
      expect(daysLeft(certificate)).toBeCloseTo(30, 1)
      expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
    }
    expect(new Set(certificates.map(({ fingerprint256 }) => fingerprint256)).size).toBe(2)
    expect(second.listener.output).not.toContain('PRIVATE KEY')
  })

  it('is the same for listeners that start at the same time', async () => {
    const { path, env, current } = createCaFolder()
    const listeners = await Promise.all(Array.from({ length: 5 }, () => listenSecurely([], env)))
    for (const { port } of listeners) await certificateOf(port, load(current))
    expect(readdirSync(path)).toEqual(['current'])
  })

  it('is renewed once if it expires, also by listeners that start at the same time', async () => {
    const { path, env, current } = createCaFolder()
    const old = await issueCa({ days: [-300, 29] })
    store(current, old)
    const listeners = await Promise.all(Array.from({ length: 4 }, () => listenSecurely([], env)))
    for (const { port } of listeners) await certificateOf(port, load(current))
    await Promise.all(listeners.map(({ listener }) => listener.stop())) // then all output has arrived
    const notes = listeners.filter(({ listener }) => listener.stderr.includes('made a new one'))
    expect(notes).toHaveLength(1)
    const expired = `expired-${new X509Certificate(old.cert).serialNumber}`
    expect(readdirSync(path).sort()).toEqual(['current', expired])
    expect(readdirSync(join(path, expired))).toEqual(['cert.pem'])
  })

  it.each<[string, (current: string) => Promise<void> | void, RegExp]>([
    [
      'a damaged certificate',
      (current) => writeFileSync(join(current, 'cert.pem'), '---'),
      /is damaged: a file is not PEM/,
    ],
    [
      'a damaged key',
      (current) => writeFileSync(join(current, 'key.pem'), ''),
      /is damaged: a file is not PEM/,
    ],
    [
      'another key',
      async (current) => store(current, { ...load(current), key: (await issueCa()).key }),
      /is damaged: the key does not belong/,
    ],
    [
      'no CA',
      async (current) => store(current, await issue()),
      /is damaged: the certificate is not that of a CA/,
    ],
    [
      'a key that others can read',
      (current) => chmodSync(join(current, 'key.pem'), 0o644),
      /other users can read .*key\.pem/,
    ],
  ])('is refused with %s, and the error names the fix', async (_, damage, expected) => {
    const { env, current } = createCaFolder()
    store(current, await issueCa({ days: [-1, 100] }))
    await damage(current)
    const { code, stderr } = await run(['listen', '--https', '--port', '0', '--count', '1'], { env })
    expect(code).toBe(2)
    expect(stderr).toMatch(expected)
    expect(stderr).toMatch(/^Remove .*the next start makes a new CA/m)
  })

  it('is not created in a folder that cannot be written', async () => {
    const { path, env } = createCaFolder()
    writeFileSync(join(path, 'file'), '')
    const folder = join(path, 'file', 'in')
    const { code, stderr } = await run(['listen', '--https'], { env: { ...env, GEOHOOK_CA_DIR: folder } })
    expect(code).toBe(2)
    expect(stderr).toMatch(/cannot create the local CA in .*: ENOTDIR\n.*GEOHOOK_CA_DIR/)
  })

  it('is in the data folder of the user by default', async () => {
    const { path, env } = createCaFolder()
    const { GEOHOOK_CA_DIR: _, ...rest } = env
    await listenSecurely([], { ...rest, GEOHOOK_CA_DIR: '', XDG_DATA_HOME: path, LOCALAPPDATA: path })
    expect(existsSync(join(path, 'geohook', 'local-ca', 'current', 'cert.pem'))).toBe(true)
    const home = join(path, 'home')
    const relative = { ...rest, GEOHOOK_CA_DIR: '', XDG_DATA_HOME: 'relative', HOME: home }
    if (process.platform === 'win32') return
    await listenSecurely([], relative)
    expect(existsSync(join(home, '.local/share/geohook/local-ca/current/cert.pem'))).toBe(true)
  })

  it('is reported by senders if its certificate is damaged, but only when they need it', async () => {
    const { env, current } = createCaFolder()
    const receiver = await serveSecurely(await issue())
    store(current, { cert: 'none', key: '' })
    const { code, stderr } = await run([...SEND, receiver.url], { env })
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /cannot read .*, the certificate of the local CA \(it is not a certificate\): remove /,
    )
    expect(await run([...SEND, 'http://127.0.0.1:1/'], { env })).toMatchObject({ code: 3 })
  })

  it.each<[string, { dns: string[]; ip: string[] }]>([
    ['another host', { dns: ['localhost', 'example.com'], ip: [] }],
    ['another address', { dns: ['localhost'], ip: ['192.0.2.1'] }],
  ])('cannot certify %s, even with a stolen key', async (_, names) => {
    const { env, current } = createCaFolder()
    await listenSecurely([], env)
    const forged = await serveSecurely(await issue({ issuer: load(current), ...names }))
    const honest = await serveSecurely(await issue({ issuer: load(current) }))
    expect(await run([...SEND, honest.url], { env })).toMatchObject({ code: 0 })
    const { code, stderr } = await run([...SEND, forged.url], { env })
    expect(code).toBe(3)
    expect(stderr).toMatch(/is for a host that its CA may not certify/)
    expect(forged.requests).toBe(0)
  })

  it.runIf(isInstalled('openssl', 'version'))('passes the strict checks of OpenSSL', async () => {
    const { path, env, current } = createCaFolder()
    const { port } = await listenSecurely([], env)
    const file = join(path, 'server.pem')
    writeFileSync(file, (await certificateOf(port, load(current))).toString())
    for (const name of [
      ['-verify_hostname', 'localhost'],
      ['-verify_ip', '127.0.0.1'],
      ['-verify_ip', '::1'],
    ]) {
      const args = ['-x509_strict', '-purpose', 'sslserver', ...name, '-CAfile', join(current, 'cert.pem')]
      expect(execFileSync('openssl', ['verify', ...args, file], { encoding: 'utf8' })).toBe(`${file}: OK\n`)
    }
  })

  it.runIf(isInstalled('curl', '--version'))('is accepted by curl --cacert', async () => {
    const { env, current } = createCaFolder()
    const { url, listener } = await listenSecurely([], env)
    expect(spawnSync('curl', ['-s', url]).status).toBe(60) // the certificate is not trusted
    await listener.printed(/A sender did not accept the certificate .*: it must trust the CA certificate /)
    const curl = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', join(current, 'cert.pem'), url]
    expect(execFileSync('curl', curl, { encoding: 'utf8' })).toBe('405')
  })
})
