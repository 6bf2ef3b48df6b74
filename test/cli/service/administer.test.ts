import type { IncomingMessage } from 'node:http'
import type { MockServiceOptions, Webhook } from 'geohook/mock'
import { createManualClock, createTokens } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import {
  createFolder,
  geohook,
  parseStdout,
  type RunOptions,
  type RunResult,
  startGeohook,
} from '../../helpers/cli.ts'
import { startHeldTarget } from '../../helpers/cli-servers.ts'
import { serve } from '../../helpers/served.ts'
import { create, FEATURE, seed, toProduct } from '../../mock/support.ts'

const folder = createFolder()
const PARCELS = 'Parcels.FeatureServer'
const NOW = 1_800_000_000_000
const TERMINAL = { columns: 160 }

const named = (name: string, changes: Partial<Webhook> = {}): Webhook =>
  seed(FEATURE, { id: `id-${name}`, name, signatureKey: `key of ${name}`, ...changes })

const ofPortal = (changes: Partial<Webhook> = {}): Webhook =>
  named('a', { serviceName: 'P1', serviceType: 'Portal', changeTypes: ['/items'], ...changes })

/** Starts a mock, and returns a function that runs a command there, and one that returns what the mock has stored. */
async function start(
  webhooks: Webhook[],
  options: MockServiceOptions = {},
  before: (req: IncomingMessage) => object | undefined = () => undefined,
) {
  const like = { handshake: false, ...toProduct(options.like) }
  const mock = create(webhooks, { clock: createManualClock(NOW), ...options, like })
  const { url } = await serve((req, res) => {
    const answer = before(req)
    if (req.url === '/full') res.writeHead(507).end('no room')
    else if (answer) req.resume().on('end', () => res.end(JSON.stringify(answer)))
    else mock.app(req, res)
  })
  const address = ['--url', url, '--product', like.product ?? 'service']
  const run = (args: readonly string[], more?: RunOptions): Promise<RunResult> =>
    geohook([...args, ...address], more)
  return { mock, url, run, stored: () => mock.snapshot().webhooks }
}

describe('geohook activate and deactivate', () => {
  it('switch webhooks by name, keep their members, and change none if one does not exist', async () => {
    const before = ['a', 'b', 'c'].map((name) => named(name, { active: true }))
    const { run, stored } = await start(before, { like: { omitted: 'reset' } })
    const wrong = await run(['deactivate', PARCELS, 'a', 'x'])
    expect([wrong.code, wrong.stdout, stored()]).toEqual([1, '', before])
    const { code, stdout } = await run(['deactivate', PARCELS, 'a', 'id-b', 'a'])
    expect([code, stdout]).toEqual([0, 'deactivated a (id-a)\ndeactivated b (id-b)\n'])
    const modified = { modified: NOW, modifiedId: expect.any(String) }
    const after = before.map((webhook) =>
      webhook.name === 'c' ? webhook : { ...webhook, active: false, ...modified },
    )
    expect(stored()).toEqual(after)
    expect(parseStdout(await run(['activate', PARCELS, '--all', '--json']))).toEqual({
      activated: ['id-a', 'id-b', 'id-c'],
    })
    expect(stored().map(({ active }) => active)).toEqual([true, true, true])
  })

  it('need the key if the service does not show it, and do not replace a key that it shows', async () => {
    const hidden = await start([named('a')], { like: { keys: 'hidden', omitted: 'reset' } })
    const refused = await hidden.run(['deactivate', PARCELS, 'a'])
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/--key-file .*--no-key/) })
    expect((await hidden.run(['deactivate', PARCELS, 'a', '--key', 'key of a'])).code).toBe(0)
    expect(hidden.stored()).toMatchObject([{ active: false, signatureKey: 'key of a' }])

    const shown = await start([named('a')])
    expect((await shown.run(['deactivate', PARCELS, 'a', '--key', 'another'])).code).toBe(0)
    expect(shown.stored()).toMatchObject([{ active: false, signatureKey: 'key of a' }])
  })
})

describe('geohook delete --all', () => {
  it.each([
    ['y\n', 0, 'deleted a (id-a)\ndeleted b (id-b)\n2 webhooks\n', ''],
    ['\n', 1, '', 'error: nothing was deleted\n'],
    ['', 1, '', 'error: nothing was deleted\n'],
  ])('asks on a terminal: %j', async (stdin, code, output, error) => {
    const { run, stored } = await start([named('a'), named('b')])
    const env = { NO_COLOR: '1' }
    expect(await run(['delete', PARCELS, '--all'], { ...TERMINAL, stdin, env })).toEqual({
      code,
      stdout: output,
      stderr: `Delete 2 webhooks of ${PARCELS}? [y/N] ${error}`,
    })
    expect(stored().length).toBe(code === 0 ? 0 : 2)
  })

  it('deletes nothing if there are more webhooks than it has asked about', async () => {
    let lists = 0
    const { run, mock, stored } = await start([named('a')], {}, ({ url }) => {
      if (/webhooks\?/.test(url ?? '') && lists++ === 1)
        mock.restore({ ...mock.snapshot(), webhooks: [named('a'), named('b')] })
      return undefined
    })
    const { code, stdout, stderr } = await run(['delete', PARCELS, '--all'], { ...TERMINAL, stdin: 'y\n' })
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('nothing was deleted')])
    expect(stored().length).toBe(2)
  })

  it('does not ask with --yes, or without webhooks, and asks for --yes with --json', async () => {
    const { run, stored } = await start([named('a')])
    expect(await run(['delete', PARCELS, '--all', '--json'], TERMINAL)).toMatchObject({ code: 2, stdout: '' })
    expect(stored().length).toBe(1)
    const lines = ['deleted a (id-a)\n1 webhook\n', '0 webhooks\n']
    for (const stdout of lines)
      expect(await run(['delete', PARCELS, '--all', '--yes'])).toEqual({ code: 0, stdout, stderr: '' })
    expect(await run(['delete', PARCELS, '--all'], TERMINAL)).toMatchObject({ code: 0, stderr: '' })
  })
})

it('geohook delete portal --all lists what it has deleted when the portal refuses the next deletion', async () => {
  const webhooks = ['a', 'b', 'c'].map((name) => ofPortal({ id: `id-${name}`, name }))
  const { run, stored } = await start(webhooks, { like: 'portal' }, ({ url }) =>
    url?.includes('/id-b/delete') ? { error: { code: 400, message: 'no' } } : undefined,
  )
  const { code, stdout } = await run(['delete', 'portal', '--all', '--yes'])
  expect([code, stdout]).toEqual([1, 'deleted a (id-a)\n1 webhook\n'])
  expect(stored().map(({ name }) => name)).toEqual(['b', 'c'])
})

describe('geohook list', () => {
  it('masks payload URLs, and shows them on a terminal with --show-urls', async () => {
    const hookUrl = 'https://flows.example:443/run?sig=Zm9vYmFy'
    const { run } = await start([named('a', { hookUrl }), named('b', { signatureKey: '' })])
    for (const mode of [[], ['--json']]) {
      const { stdout } = await run(['list', ...mode])
      expect(stdout).toContain('https://flows.example:443/run?sig=***')
      expect(stdout).not.toMatch(/Zm9vYmFy|key of a/)
    }
    const shown = await run(['list', '--show-urls'], TERMINAL)
    expect(shown.stdout).toContain(hookUrl)
    expect(shown.stdout).toMatch(/ b .* none +http/)
    const edit = ['edit', PARCELS, 'a', '--hook-url', 'https://flows.example/run?code=Zm9v', '--show-urls']
    expect((await run(edit, TERMINAL)).stdout).toContain(
      `https://flows.example/run?code=Zm9v\n                was ${hookUrl}\n`,
    )
    const hidden = await start([named('a')], { like: { keys: 'hidden' } })
    expect((await hidden.run(['list'])).stdout).toMatch(/ a .* not shown +http/)
  })

  it('lists the webhooks of all servers of a portal, and says which portal it asks', async () => {
    const { url } = await start([named('a'), named('b')], { like: 'portal' })
    const { stdout } = await geohook(['list', '--all-servers', '--json', '--portal', url])
    expect(JSON.parse(stdout).webhooks.map(({ name }: Webhook) => name)).toEqual(['a', 'b'])
    const held = await startHeldTarget('{}')
    const list = startGeohook(['list', '--all-servers', '--portal', held.url], { pace: 0.01 })
    await held.arrived(1)
    await list.printed(/\(\d+ s\)\n/)
    held.release()
    expect(await list.exited).toBe(1)
    await held.close()
    expect(list.stderr).toMatch(new RegExp(`^asking ${held.url} \\(`))
  })
})

describe('the commands name their own options', () => {
  it.each([
    [
      '--portal, if the webhooks of a portal are missing it',
      ['list', '--all-servers'],
      1,
      /\n.*in --portal\.\n$/,
    ],
    ['--url', ['list', PARCELS, '--product', 'portal'], 1, /\n.*as --url\.\n$/],
    ['--referer', ['list', '--referer', 'a b'], 2, /^error: --referer must be /],
    ['--change-types', ['edit', PARCELS, 'a', '--change-types', ','], 2, /^error: --change-types must be /],
  ])('%s', async (_, args, code, message) => {
    const { url } = await start([named('a')])
    expect(await geohook([...args, '--url', url])).toMatchObject({
      code,
      stderr: expect.stringMatching(message),
    })
  })
})

describe('signing in', () => {
  it('as a user, with a password from a file', async () => {
    const users = [
      { username: 'kim', password: 'wonderland', privileges: ['features', 'geoprocessing'] as const },
    ]
    const { url } = await start([named('a')], { auth: createTokens({ users }) })
    const password = folder.file('password.txt', 'wonderland\n')
    const args = ['list', '--url', url, '--portal', url, '--username', 'kim', '--password-file']
    const listed = await geohook([...args, password])
    expect(listed).toMatchObject({ stderr: '', code: 0, stdout: expect.stringContaining('id-a') })
    const wrong = await geohook([...args, folder.file('wrong.txt', 'nonsense')])
    expect(wrong).toMatchObject({ code: 1, stdout: '' })
    expect(wrong.stderr).not.toContain('nonsense')
  })

  it.each([
    ['a password', ['--username', 'kim', '--portal', 'http://127.0.0.1:9/portal']],
    ['a portal', ['--username', 'kim', '--password-env', 'PATH']],
    ['a user name', ['--password-env', 'PATH', '--portal', 'http://127.0.0.1:9/portal']],
    [
      'one kind of name',
      ['--username', 'kim', '--client-id', 'app', '--portal', 'http://127.0.0.1:9/portal'],
    ],
  ])('requires %s', async (_, args) => {
    const refused = { code: 2, stderr: expect.stringContaining('signing in requires --portal, and either') }
    expect(await geohook(['list', ...args])).toMatchObject(refused)
  })
})

it('the commands administer the webhooks of a portal, which takes the place of a service', async () => {
  const { run, stored } = await start([ofPortal()], { like: { product: 'portal', keys: 'hidden' } })
  expect((await run(['list'])).stdout).toMatch(/\nportal +id-a +a +\/items +yes +not shown/)
  const policy = ['--deactivation', '2/9', '--properties', '{"notebook":"n1"}', '--no-key']
  const edited = await run(['edit', 'portal', 'a', ...policy, '--change-types', '/users'])
  expect(edited).toMatchObject({ code: 0, stderr: '' })
  expect(edited.stdout).toMatch(/ {2}deactivation {2}\{"numberOfFailures":2,"daysInPast":9\}\n {16}was /)
  expect(stored()).toMatchObject([
    {
      changeTypes: ['/users'],
      config: {
        deactivationPolicy: { numberOfFailures: 2, daysInPast: 9 },
        properties: { notebook: 'n1' },
      },
    },
  ])
  expect((await run(['deactivate', 'portal', 'a'])).stdout).toBe('deactivated a (id-a)\n')
  expect(stored()).toMatchObject([{ active: false }])
  expect(await run(['edit', 'portal', 'a', '--deactivation', '5'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must be failures/days, for example 5/5'),
  })
  expect((await run(['create', PARCELS, '--name', 'n', '--hook-url', 'http://127.0.0.1:9'])).stderr).toMatch(
    /^error: a portal has no webhooks of Parcels/,
  )
})

it('geohook failures prints the recorded deliveries', async () => {
  const { mock, run, url } = await start([ofPortal()], { like: 'portal' })
  expect((await run(['failures', 'portal', 'a'])).stdout).toBe('no deliveries are recorded\n')
  mock.restore({ webhooks: [ofPortal({ hookUrl: `${url}/full` })] })
  await mock.trigger({ serviceName: 'P1', changeType: '/items/add' })
  const at = new Date(NOW).toISOString()
  expect((await run(['failures', 'portal', 'id-a'])).stdout).toMatch(
    new RegExp(`^time +delivered +response\n${at} +no +no room\n$`),
  )
  const { deliveries } = parseStdout(await run(['failures', 'portal', 'a', '--json']))
  expect(deliveries).toEqual([{ at, isDelivered: false, response: 'no room' }])
})

it('geohook settings prints and changes how the service delivers', async () => {
  const { mock, run } = await start([])
  const changed = await run(['settings', '--attempts', '4', '--pause', '7', '--json'])
  const settings = {
    attempts: 4,
    timeoutInSeconds: 10,
    pauseInSeconds: 7,
    numberOfFailures: 5,
    daysInPast: 5,
  }
  expect(parseStdout(changed)).toEqual(settings)
  expect(mock.settings).toMatchObject({ notificationAttempts: 4, notificationElapsedTimeInSeconds: 7 })
  expect((await run(['settings'])).stdout).toMatch(
    /^attempts +4 .*\ntimeout +10 .*\npause +7 .*\nfailures +5 .*\ndays +5 /,
  )
})
