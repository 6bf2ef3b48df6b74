import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import type { WebhookError } from 'geohook'
import { type Admin, createAdmin, planWebhooks, type WebhookFile } from 'geohook/admin'
import { createManualClock, type MockServiceOptions, type Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { expectNone } from '../../admin/support.ts'
import {
  createFolder,
  parseEvents,
  parseStdout,
  type RunOptions,
  type RunResult,
  startGeohook,
  startProcess,
  withoutProgress,
} from '../../helpers/cli.ts'
import { serve } from '../../helpers/served.ts'
import { create, FEATURE, JOB, seed, toProduct } from '../../mock/support.ts'

const PARCELS = 'Parcels.FeatureServer'
const BUFFER = 'Buffer.GPServer'
const NOW = 1_800_000_000_000
const TERMINAL = { columns: 200 }
const KEYS = { A_KEY: 'Geheimnis-of-a-2026', B_KEY: 'Geheimnis-of-b-2026', NEW_KEY: 'Geheimnis-new-2026' }
const SIG = 'Zm9vYmFy_Flow-Secret'
const ENV = { ...KEYS, SIG, NO_COLOR: '1' }
const SECRETS = [...Object.values(KEYS), SIG, 'other-signature']
const FLOW = 'http://127.0.0.1:9/flow?sig='

const named = (name: string, changes: Partial<Webhook> = {}): Webhook =>
  seed(FEATURE, { id: `id-${name}`, name, signatureKey: KEYS.A_KEY, ...changes })
const a = named('a', { hookUrl: FLOW + SIG })
const b = named('b', { signatureKey: KEYS.B_KEY, changeTypes: ['*'] })
const job = seed(JOB, { id: 'id-job', name: 'job', signatureKey: '' })

const SCHEMA = JSON.parse(readFileSync(new URL('../../../webhooks.schema.json', import.meta.url), 'utf8'))
const accepts = new Ajv().compile(SCHEMA)

const folder = createFolder()
let files = 0

/** Starts a mock. `run` expects no secret in any output. `write` returns the path of a new file with webhooks. */
async function start(
  webhooks: Webhook[],
  options: MockServiceOptions = {},
  before: (req: IncomingMessage, res: ServerResponse) => unknown = () => undefined,
) {
  const like = { handshake: false, ...toProduct(options.like) }
  const mock = create(webhooks, { clock: createManualClock(NOW), ...options, like })
  const { url } = await serve(async (req, res) => {
    const answer = await before(req, res)
    if (answer) req.resume().on('end', () => res.end(JSON.stringify(answer)))
    else mock.app(req, res)
  })
  const begin = (args: readonly string[], more: RunOptions = {}) =>
    startGeohook([...args, '--url', url, '--product', like.product ?? 'service'], {
      ...more,
      env: { ...ENV, ...more.env },
    })
  const run = async (args: readonly string[], more?: RunOptions): Promise<RunResult> => {
    const running = begin(args, more)
    const code = await running.exited
    expectNone(running.output, SECRETS)
    return { code, stdout: running.stdout, stderr: withoutProgress(running.stderr) }
  }
  const write = (services: object, more: object = {}): string =>
    folder.file(`webhooks-${files++}.json`, JSON.stringify({ site: url, services, ...more }))
  return { mock, url, begin, run, write, stored: () => mock.snapshot().webhooks }
}

const entryOf = ({ name, hookUrl, changeTypes }: Webhook, changes: object = {}) => ({
  name,
  hookUrl: hookUrl.replace(SIG, () => `\${SIG}`),
  changeTypes,
  key: { env: name === 'b' ? 'B_KEY' : 'A_KEY' },
  ...changes,
})

describe('geohook pull', () => {
  it('prints a file without secrets, and lists its variables, whose values make an empty plan', async () => {
    const escaped = named(`c $\{x}`, { id: 'id-c', signatureKey: '' })
    const { run, stored } = await start([a, b, escaped, job])
    const pulled = await run(['pull'])
    expect(pulled.code).toBe(0)
    expect(pulled.stderr).toBe(
      [
        'set these environment variables before you plan:',
        `  PARCELS_A_SIG  hookUrl     ${PARCELS}, a`,
        `  PARCELS_A_KEY  key         ${PARCELS}, a`,
        `  PARCELS_B_KEY  key         ${PARCELS}, b\n`,
      ].join('\n'),
    )
    const file = parseStdout(pulled)
    expect(file.$schema).toBe('./node_modules/geohook/webhooks.schema.json')
    expect(Object.keys(file.services)).toEqual([PARCELS, BUFFER])
    expect(file.services[PARCELS][0]).toMatchObject({
      name: 'a',
      hookUrl: `${FLOW}$\{PARCELS_A_SIG}`,
      key: { env: 'PARCELS_A_KEY' },
    })
    expect(file.services[PARCELS][2]).toMatchObject({ name: `c $$\{x}`, key: null })
    expect(accepts(file)).toBe(true)
    const path = folder.file('pulled.json', pulled.stdout)
    const env = { PARCELS_A_SIG: SIG, PARCELS_A_KEY: KEYS.A_KEY, PARCELS_B_KEY: KEYS.B_KEY }
    const planned = await run(['plan', path], { env })
    const lines = [PARCELS, '  no changes', BUFFER, '  no changes']
    const end = '0 changes: 0 to create, 0 to edit, 0 to delete\n'
    expect(planned).toEqual({ code: 0, stderr: '', stdout: [...lines, end].join('\n') })
    expect(stored()).toEqual([a, b, escaped, job])
    const unset = await run(['plan', path])
    expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('PARCELS_A_SIG') })

    const one = parseStdout(await run(['pull', BUFFER, PARCELS, '--json']))
    expect(Object.keys(one.file.services)).toEqual([BUFFER, PARCELS])
    expect(one.variables[0]).toEqual({
      name: 'PARCELS_A_SIG',
      service: PARCELS,
      webhook: 'a',
      member: 'hookUrl',
    })
  })

  it('makes variables of secrets in the properties of a portal, and hides what else looks like one', async () => {
    const properties = { notebook: 'n1', flow: FLOW + SIG, secret: { of: [SIG] } }
    const ofPortal = named('p', {
      serviceName: 'P1',
      serviceType: 'Portal',
      changeTypes: ['/items'],
      config: { deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 }, properties },
    })
    const { run, mock } = await start([ofPortal], { like: 'portal' })
    const pulled = await run(['pull', 'portal'])
    const variables = { flow: `${FLOW}$\{PORTAL_P_SIG}`, secret: { of: [`$\{PORTAL_P_SECRET}`] } }
    const file = parseStdout(pulled)
    expect(file.services.portal[0].properties).toEqual({ notebook: 'n1', ...variables })
    expect(accepts(file)).toBe(true)
    const path = folder.file('portal.json', pulled.stdout)
    const env = { PORTAL_P_SIG: SIG, PORTAL_P_SECRET: SIG, PORTAL_P_KEY: KEYS.A_KEY }
    expect((await run(['plan', path, 'portal'], { env })).code).toBe(0)

    mock.restore({ webhooks: [{ ...ofPortal, name: `token=${SIG}` }] })
    const hidden = await run(['pull'])
    expect(hidden.stderr).toContain('*** is in place of text that looks like a secret')
    const refused = await run(['plan', folder.file('hidden.json', hidden.stdout)], {
      env: { ...env, PORTAL_TOKEN_ZM9VYMFY_FLOW_SECRET_SIG: SIG },
    })
    expect(refused.code).toBe(2)
  })
})

describe('geohook plan', () => {
  it('prints each change member by member, what is not managed or compared, and notes', async () => {
    const recurrenceInfo = { interval: 60, frequency: 'second' } as const
    const slow = { ...a, scheduleInfo: { ...a.scheduleInfo, recurrenceInfo } as typeof a.scheduleInfo }
    const { run, write, stored } = await start([slow, b, named('d')], { like: { keys: 'hidden' } })
    const path = write({
      [PARCELS]: [
        entryOf(a, { schedule: { recurrenceInfo: { interval: 20, frequency: 'second' } } }),
        entryOf(b, { name: 'c', was: 'b', active: false }),
        { name: 'new', hookUrl: `${FLOW}$\{SIG}`, key: { env: 'NEW_KEY' } },
      ],
    })
    const env = { SIG: 'other-signature' }
    const planned = await run(['plan', path], { env })
    const note =
      'a: schedule is {"name":"often","state":"enabled","startAt":1600000000000,"recurrenceInfo":{"interval":60,' +
      '"frequency":"second"}}, and the file has {"recurrenceInfo":{"interval":20,"frequency":"second"}}: ' +
      'not a change, because the service probably adjusted it'
    expect(planned).toEqual({
      code: 4,
      stderr: '',
      stdout: [
        PARCELS,
        '  edit a (id-a)',
        `    hookUrl       ${FLOW}*** (only a secret part differs)`,
        '  edit b (id-b)',
        '    name          b → c',
        '    active        true → false',
        '  create new',
        '    active        true',
        '    name          new',
        `    hookUrl       ${FLOW}***`,
        '    key           ***',
        '  not managed   d',
        '  not compared  a: key',
        '  not compared  c: key',
        `  note          ${note}`,
        '3 changes: 1 to create, 2 to edit, 0 to delete\n',
      ].join('\n'),
    })
    const asJson = await run(['plan', path, PARCELS, '--delete-unmanaged', '--json'], { env })
    expect(asJson.code).toBe(4)
    const [service] = parseStdout(asJson).services
    const actions = service.changes.map(({ action, name }: Record<string, string>) => `${action} ${name}`)
    expect(actions).toEqual(['edit a', 'edit b', 'create new', 'delete d'])
    expect(service.notes[1]).toContain('both active')
    const first = await run(['plan', path, '--delete-unmanaged', '--delete-first', '--json'], { env })
    expect(parseStdout(first).services[0].changes[0]).toMatchObject({ action: 'delete', name: 'd' })
    expect(stored()).toEqual([slow, b, named('d')])
  })

  it('checks its options and the limit of a service, and sends hidden keys on demand', async () => {
    const { run, write } = await start([a], { like: { keys: 'hidden' } })
    const same = write({ [PARCELS]: [entryOf(a)] })
    expect((await run(['plan', same])).code).toBe(0)
    const keys = await run(['plan', same, '--send-keys'])
    expect(keys.code).toBe(4)
    expect(keys.stdout).toContain('    key           not shown → ***')
    const two = write({ [PARCELS]: [entryOf(a), { name: 'n', hookUrl: 'http://127.0.0.1:9' }] })
    expect(await run(['plan', two, '--limit', '1'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/would have 2 webhooks, but the limit is 1/),
    })
    expect(await run(['plan', two, '--delete-first'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--delete-first requires --delete-unmanaged'),
    })
    const empty = write({ [PARCELS]: [] })
    expect((await run(['plan', empty, '--delete-unmanaged'])).code).toBe(2)
    expect((await run(['plan', empty, PARCELS, '--delete-unmanaged'])).code).toBe(4)
    expect((await run(['plan', empty, BUFFER])).stderr).toContain(`no list for the service ${BUFFER}`)
    expect((await run(['plan', write({}, { site: 'https://gis.example.com' })])).code).toBe(2)
  })

  it('reads keys from variables, files and keyrings, relative to the file', async () => {
    const { run, write } = await start([a])
    mkdirSync(join(folder.path, 'keys'), { recursive: true })
    const ring = (...keys: unknown[]) =>
      JSON.stringify({ keys: keys.map((key, id) => ({ id: `${id}`, key })) })
    folder.file('keys/a.txt', `${KEYS.A_KEY}\r\n`)
    folder.file('keys/ring.json', ring(KEYS.A_KEY, KEYS.B_KEY))
    folder.file('keys/other.json', ring(KEYS.B_KEY, KEYS.A_KEY))
    folder.file('keys/none.json', ring())
    folder.file('keys/odd.json', ring(KEYS.B_KEY, 7))
    folder.file('keys/white.txt', ` ${KEYS.A_KEY}\n`)
    for (const [key, code, output] of [
      [{ file: 'keys/a.txt' }, 0, ''],
      [{ file: join(folder.path, 'keys/a.txt') }, 0, ''],
      [{ keyring: 'keys/ring.json' }, 0, ''],
      [{ keyring: 'keys/other.json' }, 4, 'key           *** (only a secret part differs)'],
      [null, 4, 'key           *** → none'],
      [{ env: 'UNSET' }, 2, `${PARCELS}, a: the environment variable of its key is not set`],
      [{ file: 'keys/missing.txt' }, 2, 'the file of its key cannot be read: no such file'],
      [{ file: 'keys/white.txt' }, 2, 'has white space around it'],
      [{ keyring: 'keys/none.json' }, 2, 'its keyring must be JSON with 1 to 100 keys'],
      [{ keyring: 'keys/odd.json' }, 2, 'its keyring is invalid: keys[1].key must be text'],
      [{ keyring: 'keys/a.txt' }, 2, 'its keyring must be JSON'],
      [{ keyring: 'keys/missing.json' }, 2, 'its keyring cannot be read: ENOENT'],
      [{ file: 'keys/ring.json' }, 2, 'the file of its key contains JSON'],
    ] as const) {
      const planned = await run(['plan', write({ [PARCELS]: [entryOf(a, { key })] })])
      expect([key, planned.code]).toEqual([key, code])
      expect(planned.stdout + planned.stderr).toContain(output)
    }
  })
})

/** A plan of three changes of one service, and of one of another. */
const FOUR = {
  [PARCELS]: [
    entryOf(a, { changeTypes: ['*'] }),
    entryOf(b, { name: 'c', was: 'b' }),
    { name: 'new', hookUrl: `${FLOW}$\{SIG}`, key: { env: 'NEW_KEY' } },
  ],
  [BUFFER]: [{ name: 'job', active: false }],
}

describe('geohook apply', () => {
  it('asks on a terminal, makes each change, and then has nothing to do', async () => {
    const { run, write, stored } = await start([a, b, job])
    const path = write(FOUR)
    for (const stdin of ['n\n', '']) {
      const refused = await run(['apply', path], { ...TERMINAL, stdin })
      expect(refused).toMatchObject({
        code: 1,
        stderr: 'Make 4 changes? [y/N] error: nothing was written\n',
      })
    }
    for (const more of [[], ['--json']]) {
      const refused = await run(['apply', path, ...more], more.length > 0 ? TERMINAL : {})
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    }
    expect(stored()).toEqual([a, b, job])
    const applied = await run(['apply', path], { ...TERMINAL, stdin: 'y\n' })
    expect(applied).toMatchObject({ code: 0, stderr: 'Make 4 changes? [y/N] ' })
    expect(applied.stdout.split('\n').slice(-6)).toEqual([
      `edited ${PARCELS}, a`,
      `edited ${PARCELS}, b`,
      `created ${PARCELS}, new`,
      `edited ${BUFFER}, job`,
      '4 changes: 4 done, 0 failed, 0 not begun',
      '',
    ])
    expect(stored()).toMatchObject([
      { name: 'a', changeTypes: ['*'], hookUrl: a.hookUrl, signatureKey: KEYS.A_KEY },
      { name: 'c', signatureKey: KEYS.B_KEY },
      { name: 'job', active: false },
      { name: 'new', hookUrl: FLOW + SIG, signatureKey: KEYS.NEW_KEY },
    ])
    expect(await run(['apply', path])).toMatchObject({ code: 0, stderr: '' })
    expect(parseStdout(await run(['apply', path, '--json']))).toEqual({ changes: [] })
  })

  it('stops a service whose change fails, and prints the error of each', async () => {
    const { run, write, stored } = await start([a, b, job], {}, ({ url }) =>
      url?.includes('/id-b/edit') ? { error: { code: 400, message: `no ${SIG}` } } : undefined,
    )
    const path = write(FOUR)
    const applied = await run(['apply', path, '--yes'])
    expect(applied).toMatchObject({ code: 1, stderr: '' })
    expect(applied.stdout).toMatch(
      new RegExp(
        `\nedited ${PARCELS}, a\nfailed \\(edit\\) ${PARCELS}, b\n  admin_refused: .*no \\*\\*\\*.*\n` +
          `edited ${BUFFER}, job\n` +
          `not begun \\(create\\) ${PARCELS}, new\n4 changes: 2 done, 1 failed, 1 not begun\n$`,
      ),
    )
    const again = await run(['apply', path, '--yes', '--json'])
    expect(again).toMatchObject({ code: 1, stderr: '' })
    expect(parseStdout(again).changes).toMatchObject([
      { action: 'edit', name: 'b', state: 'failed', error: { code: 'admin_refused' } },
      { action: 'create', name: 'new', state: 'not begun' },
    ])
    expect(stored().map(({ name }) => name)).toEqual(['a', 'b', 'job'])
  })

  it('changes nothing with --plan unless the plan is the stored one', async () => {
    const { run, write, stored, mock } = await start([a, b, job])
    const path = write(FOUR)
    const stale = folder.file('plan.json', (await run(['plan', path, '--json'])).stdout)
    const args = ['apply', path, '--yes', '--plan', stale]
    await mock.edit('id-job', { payloadFormat: 'pjson' })
    const before = stored()
    for (const wrong of [args, [...args, PARCELS], [...args, '--delete-unmanaged']]) {
      const refused = await run([...wrong, '--json'])
      expect([refused.code, refused.stdout]).toEqual([1, ''])
      expect(JSON.parse(refused.stderr).error).toMatchObject({ code: 'admin_conflict' })
    }
    expect(stored()).toEqual(before)
    writeFileSync(stale, (await run(['plan', path, '--json'])).stdout)
    expect((await run(args)).code).toBe(0)
    expect((await run(args)).code).toBe(1)
    const empty = folder.file('empty.json', (await run(['plan', path, '--json'])).stdout)
    expect((await run(['apply', path, '--plan', empty])).code).toBe(0)
  })

  it('writes a line to the audit file before and after each change', async () => {
    const audit = join(folder.path, 'audit.jsonl')
    const seen: number[] = []
    const { run, write } = await start([a, b, job], {}, ({ url }) => {
      if (url?.endsWith('/edit')) seen.push(parseEvents({ stdout: readFileSync(audit, 'utf8') }).length)
      return url?.includes('/id-b/edit') ? { error: { code: 400, message: `no ${SIG}` } } : undefined
    })
    const path = write(FOUR)
    await run(['apply', path, '--yes', '--audit', audit])
    const text = readFileSync(audit, 'utf8')
    expectNone(text, SECRETS)
    expect(seen).toEqual([1, 3, 5])
    const at = expect.stringMatching(/^\d{4}-.*Z$/)
    const of = { at, action: 'edit', site: expect.stringContaining('http') }
    expect(parseEvents({ stdout: text })).toMatchObject([
      { ...of, event: 'begin', name: 'a', members: [{ member: 'changeTypes', requested: '["*"]' }] },
      { ...of, event: 'end', name: 'a', state: 'done' },
      { ...of, event: 'begin', name: 'b' },
      { ...of, event: 'end', name: 'b', state: 'failed', error: { code: 'admin_refused' } },
      { ...of, event: 'begin', service: BUFFER, name: 'job' },
      { ...of, event: 'end', name: 'job', state: 'done' },
    ])
    expect(statSync(audit).mode & 0o777).toBe(0o600)
    await run(['apply', path, '--yes', '--audit', audit])
    expect(readFileSync(audit, 'utf8').startsWith(text)).toBe(true)
    const wrong = await run(['apply', path, '--yes', '--audit', folder.path])
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('it is a folder') })
  })

  it('finishes the change in flight on Ctrl-C, and begins no other one', async () => {
    let stop = (): void => {}
    const { begin, write, stored, run } = await start([a, b, job], {}, ({ url }) => {
      if (url?.includes('/id-a/edit')) stop()
    })
    const path = write(FOUR)
    const running = begin(['apply', path, '--yes'])
    stop = () => void running.stop()
    expect(await running.exited).toBe(130)
    expect(running.stdout).toMatch(
      new RegExp(`\nedited ${PARCELS}, a\nnot begun .*1 done, 0 failed, 3 not begun\n$`, 's'),
    )
    expect(running.stderr).toBe('stopping after the change in flight; Ctrl-C again ends at once\n')
    expect(stored()).toMatchObject([{ name: 'a', changeTypes: ['*'] }, b, job])
    const rest = parseStdout(await run(['apply', path, '--yes', '--json'])).changes
    expect(rest.map(({ state }: { state: string }) => state)).toEqual(['done', 'done', 'done'])
  })

  it('exits with 130 in a process of its own', async () => {
    let interrupt: () => unknown = () => undefined
    const { url, write, stored } = await start([a, b, job], {}, async (req) => {
      if (req.url?.includes('/id-a/edit')) await interrupt()
    })
    const args = ['apply', write(FOUR), '--yes', '--url', url, '--product', 'service']
    const started = startProcess(args, { env: ENV })
    interrupt = () => {
      started.child.kill('SIGINT')
      return started.printed(/stopping after/)
    }
    expect(await started.exited).toBe(130)
    expectNone(started.output, SECRETS)
    expect(stored()).toMatchObject([{ name: 'a', changeTypes: ['*'] }, b, job])
  })
})

describe('webhooks.schema.json', () => {
  const odd = fc.constantFrom<unknown>(
    ...[null, true, 7, -1, 1.5, '', ' ', ' x', 'a b', 'x,y', 'http://', 'ftp://a', '***', [], {}, ['*', '']],
  )
  const rarely = <Value>(rare: fc.Arbitrary<Value>, usual: fc.Arbitrary<Value>) =>
    fc.oneof({ weight: 40, arbitrary: usual }, { weight: 1, arbitrary: rare })
  type Members = Record<string, fc.Arbitrary<unknown>>
  const record = (members: Members, ...requiredKeys: string[]): fc.Arbitrary<object> =>
    fc.record(
      Object.fromEntries(Object.entries(members).map(([name, value]) => [name, rarely(odd, value)])),
      { requiredKeys },
    )
  const oneOf = (...values: unknown[]): fc.Arbitrary<unknown> => fc.constantFrom(...values)
  const text = oneOf('a', 'b c', '漢 😀', '$', `$\{V}`, `x$$\{V}`, '{"a":1}')
  const common = {
    name: oneOf('n', 'n 1', 'n 2', '$', `$\{V}`, `$$\{V}`, `n $\{V}`),
    was: text,
    hookUrl: oneOf('http://127.0.0.1:9', `HTTPS://a/$\{V}?b=*`, `$\{URL}`, `http://$\{V}:1/{x}`),
    changeTypes: fc.array(rarely(odd, oneOf('*', '/items', `$\{V}`)), { minLength: 1, maxLength: 2 }),
    key: rarely(
      oneOf({ env: '' }, { env: 'A', file: 'a' }),
      oneOf(null, { env: 'A' }, { file: `$\{V}` }, { keyring: 'k' }),
    ),
    active: fc.boolean(),
  }
  const served = { ...common, contentType: text, payloadFormat: text }
  const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year', `$\{UNIT}`]
  const recurrenceInfo = record({ interval: oneOf(1, 45, 2 ** 53 - 1), frequency: oneOf(...units) })
  const state = oneOf('enabled', 'disabled')
  const schedule = record({ name: text, state, startAt: oneOf(0, NOW), recurrenceInfo })
  const counts = { numberOfFailures: fc.integer(), daysInPast: fc.integer() }
  const deactivation = record({ ...counts, other: text }, ...Object.keys(counts))
  const properties = fc.dictionary(text as fc.Arbitrary<string>, fc.jsonValue())
  const lists = {
    [PARCELS]: { ...served, schedule },
    'folder/Other.GPServer': served,
    portal: { ...common, deactivation, properties },
  }
  const listOf = (members: Members) => fc.array(rarely(odd, record(members, 'name')), { maxLength: 2 })
  const all: Members = { ...lists[PARCELS], ...lists.portal, colour: text }
  const names = [PARCELS, BUFFER, 'portal', 'Portal', 'a/b/c.GPServer', '..FeatureServer', '../a.GPServer']
  const files = fc.record({
    usual: record(
      Object.fromEntries(Object.entries(lists).map(([name, members]) => [name, listOf(members)])),
    ),
    unusual: rarely(fc.dictionary(fc.constantFrom(...names), listOf(all)), fc.constant({})),
    more: rarely(
      oneOf({ $schema: '' }, { colour: 'red' }, { site: 7 }, { site: 'gis' }, { services: [] }),
      oneOf({}, { $schema: 'a' }),
    ),
  })

  const variables = { V: 'v', URL: 'https://a.example', UNIT: 'day' }
  /** Returns why a file is invalid. */
  const problemOf = (admin: Admin, file: unknown): Promise<string | undefined> =>
    planWebhooks(admin, file as WebhookFile, { variables, readKey: () => 'key' }).then(
      () => undefined,
      ({ code, message }: WebhookError) => (code === 'config_invalid' ? message : undefined),
    )

  it.each([
    ['an address that URL does not parse', [{ name: 'n', hookUrl: 'http://[' }], 'hookUrl must be an http'],
    ['a variable without a value', [{ name: `n$\{W}` }], 'variables without a value: W'],
    ['the value of a variable', [{ name: 'n', hookUrl: `$\{V}` }], 'hookUrl must be an http'],
    ['a hidden part', [{ name: 'a***' }], 'contains ***, the mark of a hidden part'],
    ['two webhooks with a name', [{ name: 'n' }, { name: 'n' }], 'two webhooks are named n'],
    ['a new webhook without a payload URL', [{ name: 'n' }], 'a new webhook needs a hookUrl'],
    ['another site', 'https://gis.example.com', 'not for http://'],
    ['a site that URL does not parse', 'http://[', 'site must be an origin'],
  ])('does not find %s, which planWebhooks calls invalid', async (_, given, message) => {
    const { url } = await start([a])
    const [site, webhooks] = typeof given === 'string' ? [given, []] : [url, given]
    const file = { site, services: { [PARCELS]: webhooks } }
    expect(accepts(file)).toBe(true)
    expect(await problemOf(createAdmin({ url }), file)).toContain(message)
  })

  it('accepts all other files that planWebhooks does not call invalid, and no others', async () => {
    const { url } = await start([a])
    const admin = createAdmin({ url })
    const numbers = { accepted: 0, refused: 0 }
    const property = fc.asyncProperty(files, async ({ usual, unusual, more }) => {
      const file = { site: url, services: { ...usual, ...unusual }, ...(more as object) }
      const isAccepted = accepts(file)
      numbers[isAccepted ? 'accepted' : 'refused'] += 1
      const problem = await problemOf(admin, file)
      if (/hidden part|two webhooks|needs a hookUrl|without a value/.test(problem ?? '')) return
      expect({ isAccepted, problem, file }).toEqual({ isAccepted: problem === undefined, problem, file })
    })
    await fc.assert(property, { numRuns: Number(process.env.RUNS ?? 200) })
    expect(Math.min(...Object.values(numbers))).toBeGreaterThan(20)
  })
})
