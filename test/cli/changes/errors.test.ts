import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Service, startService, TOKEN } from '../../changes/support.ts'
import { issue, issueCa, serveSecurely } from '../../helpers/certificates.ts'
import { createFolder, geohook, type RunResult } from '../../helpers/cli.ts'
import { captureJson } from '../../helpers/cli-captures.ts'
import { startRawServer } from '../../helpers/cli-servers.ts'
import { startTarget, unusedUrl } from '../../helpers/target.ts'
import { START } from '../../mock/features/extract/support.ts'

const folder = createFolder()
const env = { GEOHOOK_TOKEN: TOKEN }
const PATH = `/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[${START},${START + 1000}]`

/** Starts a mock that answers at once, because the command waits before it asks for the state of a job. */
const startFast = (mock: Parameters<typeof startService>[0] = {}): Promise<Service> =>
  startService({ extractChanges: { answer: 'embedded' }, ...mock })

/** Parses the error of a command with `--json`, and returns it with the exit code. */
const errorOf = ({ code, stdout, stderr }: RunResult) => {
  expect(stdout).toBe('')
  expect(stderr).not.toContain(TOKEN)
  return { exit: code, ...JSON.parse(stderr).error }
}

/** Writes a capture of a payload. Returns its path. */
function capture(name: string, payload: unknown, members: object = {}): string {
  const body = Buffer.from(JSON.stringify(payload)).toString('base64')
  const headers = [['Content-Type', 'application/json']]
  return folder.file(`${name}.json`, JSON.stringify(captureJson({ headers, body, ...members })))
}

const payloadOf = (changesUrl: string | undefined): object => ({
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  changesUrl,
  events: [{ eventType: 'FeaturesCreated', when: START }],
})

/** Starts a server that counts requests, and responds with a text. */
async function startServer(body: string): Promise<Awaited<ReturnType<typeof startTarget>>> {
  const target = await startTarget((res) => res.end(body))
  onTestFinished(() => target.close())
  return target
}

describe('geohook changes with a capture', () => {
  it('gets the changes of all events whose service is on this machine', async () => {
    const service = await startFast()
    const changesUrl = `${service.origin}${PATH}`
    const hosted = [{ name: 'n', events: ['FeaturesCreated'], changesUrl: encodeURIComponent(changesUrl) }]
    const files = [capture('service', payloadOf(changesUrl)), capture('hosted', hosted)]
    for (const file of files) {
      const { code, stdout, stderr } = await geohook(['changes', file], { env })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain('2 adds, 0 updates, 0 deletes')
    }
  })

  it('reads a folder, in which it names the service of each layer', async () => {
    const services = [await startFast(), await startFast()]
    const path = join(folder.path, 'two')
    mkdirSync(path)
    for (const [index, { origin }] of services.entries())
      renameSync(capture(`two-${index}`, payloadOf(origin + PATH)), join(path, `${index}.json`))
    renameSync(capture('handshake', '', { body: '', method: 'GET' }), join(path, 'handshake.json'))
    const { stdout } = await geohook(['changes', path], { env })
    expect(stdout.match(/^Parcels\/0 +add /gm)).toHaveLength(4)
    expect(stdout).toMatch(/\n4 adds, 0 updates, 0 deletes\n$/)
  })

  it('requires --origin for a service elsewhere, and sends nothing', async () => {
    const file = capture('elsewhere', payloadOf(`https://gis.example.com${PATH}`))
    const error = errorOf(await geohook(['changes', file, '--json'], { env }))
    expect(error).toMatchObject({
      exit: 2,
      code: 'origin_missing',
      hint: 'If this is your service, add --origin https://gis.example.com',
    })
  })

  it('asks no service outside --origin', async () => {
    const other = await startServer('{}')
    const file = capture('other', payloadOf(`${other.url}${PATH}`))
    const args = ['changes', file, '--origin', 'https://gis.example.com', '--json']
    const error = errorOf(await geohook(args, { env }))
    expect(error).toMatchObject({ exit: 1, code: 'changes_url_refused' })
    expect(error.hint).toContain(`add --origin ${other.url}.`)
    expect(other.requests).toEqual([])
  })

  it('reports a changesUrl that is no URL of a server', async () => {
    for (const changesUrl of ['parcels', 'file:///etc/passwd']) {
      const file = capture('no-server', payloadOf(changesUrl))
      const error = errorOf(await geohook(['changes', file, '--json'], { env }))
      expect(error).toMatchObject({
        exit: 2,
        message: expect.stringContaining('is not an http or https URL'),
      })
    }
  })

  it.each<[string, unknown, object]>([
    ['without a changesUrl', payloadOf(undefined), {}],
    ['of a handshake', '', { body: '', method: 'GET' }],
    ['that is not JSON', '', { body: Buffer.from('hello').toString('base64') }],
  ])('reports a capture %s', async (name, payload, members) => {
    const file = capture(`no-url-${name.length}`, payload, members)
    const error = errorOf(await geohook(['changes', file, '--json'], { env }))
    expect(error).toMatchObject({ exit: 2, code: 'changes_url_missing' })
    expect(error.message).toContain('has no event with a changesUrl')
  })

  it('reports a file that is not a capture', async () => {
    const file = folder.file('other.json', '{}')
    const error = errorOf(await geohook(['changes', file, '--json'], { env }))
    expect(error).toMatchObject({ exit: 2, message: expect.stringContaining('is not a capture') })
  })

  it('reports that --after is later than the end of every window', async () => {
    const file = capture('window', payloadOf(`http://127.0.0.1:1${PATH}`))
    const error = errorOf(
      await geohook(['changes', file, '--after', String(START + 1001), '--json'], { env }),
    )
    expect(error).toMatchObject({ exit: 2, message: '--after is later than the end of every window' })
  })
})

describe('geohook changes reports', () => {
  it.each([
    ['a rejected token', { GEOHOOK_TOKEN: 'wrong-secret' }, 'Check that the token is valid'],
    ['a missing token', {}, 'The service requires a token: give it with --token-file'],
  ])('%s', async (_, given: Record<string, string>, hint) => {
    const service = await startFast()
    const result = await geohook(['changes', service.origin + PATH, '--json'], { env: given })
    expect(result.stderr).not.toContain('wrong-secret')
    expect(errorOf(result)).toMatchObject({
      exit: 1,
      code: 'changes_token_rejected',
      hint: expect.stringContaining(hint),
    })
  })

  it('a failed job with its state', async () => {
    const service = await startService({ extractChanges: { answer: 'job', polls: 0 } })
    service.service.faults.add({ fault: 'job_failed' })
    const error = errorOf(await geohook(['changes', service.origin + PATH, '--json'], { env }))
    expect(error).toMatchObject({ exit: 1, code: 'changes_failed' })
    expect(error.message).toContain('ended with the state Failed')
  })

  it('a job that does not end within --timeout', async () => {
    const service = await startService({ extractChanges: { answer: 'job', polls: 1000 } })
    const args = ['changes', service.origin + PATH, '--timeout', '4s', '--json']
    expect(errorOf(await geohook(args, { env }))).toMatchObject({
      exit: 3,
      code: 'changes_timeout',
      message: expect.stringContaining('the state of the job was ExportChanges'),
      hint: 'Try again later, or give a longer --timeout.',
    })
  })

  it('a login page in place of the changes', async () => {
    const page = await startServer('<html>sign in</html>')
    const error = errorOf(await geohook(['changes', page.url + PATH, '--json'], { env }))
    expect(error).toMatchObject({ exit: 1, code: 'changes_malformed' })
    expect(error.message).toContain('is an HTML page')
  })

  it('changes that the service no longer has', async () => {
    const service = await startFast()
    const url = `${service.url}/extractChanges?serverGens=[1,2]`
    const error = errorOf(await geohook(['changes', url, '--json'], { env }))
    expect(error).toMatchObject({ exit: 1, code: 'resync_required' })
    expect(error.hint).toMatch(/^Give --after with a generation that the service still has/)
  })

  it('an unreachable service, and one that does not speak HTTP', async () => {
    const server = await startRawServer('no HTTP\r\n\r\n')
    onTestFinished(() => server.close())
    for (const origin of [await unusedUrl(), server.url]) {
      const error = errorOf(await geohook(['changes', origin + PATH, '--json'], { env }))
      expect(error).toMatchObject({ exit: 3, code: 'unreachable' })
      expect(error.message).toContain(`cannot reach ${origin}: `)
    }
  })

  it.each([
    [
      'a URL of another operation',
      'http://127.0.0.1:1/rest/services/P/FeatureServer/0/query',
      'Copy the changesUrl',
    ],
    ['a service without --after', 'http://127.0.0.1:1/rest/services/P/FeatureServer', 'add --after'],
    ['a plain http URL of another machine', `http://gis.example.com${PATH}`, 'The token would be readable'],
  ])('%s as wrong usage', async (_, url, hint) => {
    const error = errorOf(await geohook(['changes', url, '--json'], { env }))
    expect(error).toMatchObject({ exit: 2, hint: expect.stringContaining(hint) })
  })

  it.each([['gis.example.com'], ['https://gis.example.com/rest'], ['https://user@gis.example.com']])(
    '%s in --origin as wrong usage, without quoting it',
    async (origin) => {
      const error = errorOf(await geohook(['changes', 'x.json', '--origin', origin, '--json'], { env }))
      expect(error).toMatchObject({ exit: 2, message: expect.stringMatching(/^--origin <origin>: must be /) })
    },
  )
})

describe('geohook changes over https', () => {
  it('trusts a CA that --ca names, and describes a certificate that is not trusted', async () => {
    const ca = issueCa()
    const server = await serveSecurely(issue({ issuer: ca }), (_req, res) => res.end('{"edits":[]}'))
    const file = folder.file('ca.pem', ca.cert)
    const args = ['changes', server.url + PATH, '--json']
    expect(await geohook([...args, '--ca', file], { env })).toMatchObject({ code: 0, stderr: '' })
    const requests = server.requests
    const error = errorOf(await geohook(args, { env }))
    expect(error).toMatchObject({ exit: 3, code: 'unreachable' })
    expect(error.message).toContain('is not trusted')
    expect(server.requests).toBe(requests)
  })
})
