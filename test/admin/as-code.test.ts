// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a file contains variables.
import { inspect } from 'node:util'
import type { WebhookError } from 'geohook'
import {
  applyPlan,
  type DeclaredWebhook,
  type Plan,
  type PlannedChange,
  type PlanOptions,
  planWebhooks,
  pullWebhooks,
  type Schedule,
  type WebhookFile,
} from 'geohook/admin'
import type { Webhook as Stored } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { expectNone, FLOW, KEY, PRODUCTS, type Started, start, stored } from './support.ts'

const PARCELS = 'Parcels.FeatureServer'
const ROADS = 'folder/Roads.FeatureServer'
const HOOK = 'https://app.example/hook'
const FILE: WebhookFile['services'] = { [PARCELS]: [{ name: 'edits' }] }

/** Webhooks of a service. Their ids contain their names. */
const seeds = (service: string, ...names: string[]): Stored[] => {
  const [, folderName = '', serviceName = '', serviceType = ''] =
    /^(?:(.+)\/)?(.+)\.(.+)$/.exec(service) ?? []
  const place = { folderName, serviceName, serviceType } as Partial<Stored>
  const idOf = (name: string, index: number): string => `${serviceName}-${/^\w+$/.test(name) ? name : index}`
  return names.map((name, index) => stored('service', { ...place, name, id: idOf(name, index) }))
}

const plan = (
  { admin, url }: Pick<Started, 'admin' | 'url'>,
  services: WebhookFile['services'],
  options: PlanOptions = {},
): Promise<Plan> => planWebhooks(admin, { site: url, services }, { readKey: () => KEY, ...options })

const changesIn = ({ services }: Plan): PlannedChange[] => services.flatMap(({ changes }) => changes)

/** The changes of a plan, as texts. */
const shown = (given: Plan): string[] =>
  changesIn(given).map(({ action, name, members }) =>
    [action, name, ...members.map(({ member, requested }) => `${member}=${requested}`)].join(' '),
  )

const namesIn = ({ mock }: Started): string[] => mock.snapshot().webhooks.map(({ name }) => name)
const isChange = ({ path }: { path: string }): boolean => /\/(create|edit|delete)$/.test(path)

describe('the form of a file', () => {
  it.each<[problem: string, services: unknown, message: RegExp]>([
    ['a service without a type', { Parcels: [] }, /must be written like Parcels.FeatureServer/],
    ['the service __proto__', JSON.parse('{"__proto__":[]}'), /must be written like/],
    ['a byte order mark', { [`${PARCELS}\ufeff`]: [] }, /must be written like/],
    ['two lists of a service', { [PARCELS]: [], 'PARCELS.FeatureServer': [] }, /has two lists/],
    ['no list', { [PARCELS]: {} }, /must be a list/],
    ['no list but null', { [PARCELS]: null }, /must be a list/],
    ['a list of null', { [PARCELS]: [null] }, /webhook 1 must be an object/],
    ['a list of texts', { [PARCELS]: ['edits'] }, /webhook 1 must be an object/],
    ['no name', { [PARCELS]: [{ hookUrl: HOOK }] }, /webhook 1 has no name/],
    ['a number as name', { [PARCELS]: [{ name: 5 }] }, /webhook 1 has no name/],
    ['a byte order mark in a name', { [PARCELS]: [{ name: '\ufeffedits' }] }, /white space/],
    ['the same name twice', { [PARCELS]: [{ name: 'a' }, { name: 'a' }] }, /two webhooks are named a/],
    ['was without text', { [PARCELS]: [{ name: 'a', was: '' }] }, /invalid member was/],
    ['a misspelt member', { [PARCELS]: [{ name: 'a', hookurl: HOOK }] }, /unknown members: hookurl/],
    ['__proto__', { [PARCELS]: [JSON.parse('{"name":"a","__proto__":{}}')] }, /unknown members: __proto__/],
    ['a member of a portal', { [PARCELS]: [{ name: 'a', properties: {} }] }, /unknown members: properties/],
    ['a schedule of jobs', { 'Buffer.GPServer': [{ name: 'a', schedule: {} }] }, /unknown members: schedule/],
    ['a number as active', { [PARCELS]: [{ name: 'a', active: 1 }] }, /webhook 1: active must be true or/],
    ['no change types', { [PARCELS]: [{ name: 'a', changeTypes: [] }] }, /changeTypes must be a list/],
    ['a masked URL', { [PARCELS]: [{ name: 'a', hookUrl: `${HOOK}?sig=***` }] }, /the mark of a hidden/],
    [
      'an unset member',
      { [PARCELS]: [{ name: 'a', schedule: { start: 5 } }] },
      /unknown schedule member start/,
    ],
    ...['a key', 5, [], {}, { env: '' }, { env: 5 }, { env: 'A', file: 'b' }, { value: 'a key' }].map(
      (key): [string, unknown, RegExp] => [
        `the key ${JSON.stringify(key)}`,
        { [PARCELS]: [{ name: 'a', key }] },
        /must have a key like/,
      ],
    ),
    ['a new webhook without a payload URL', { [PARCELS]: [{ name: 'a' }] }, /needs a hookUrl/],
  ])('rejects %s', async (_, services, message) => {
    const started = await start('service', { webhooks: seeds(PARCELS, 'edits') })
    const error = await plan(started, services as WebhookFile['services']).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(message) })
    expect(started.sent.some(isChange)).toBe(false)
    expect(inspect(error)).not.toContain('a key"')
  })

  it('rejects what is not a file, and a file of another site', async () => {
    const { admin, url, sent } = await start('service')
    const files: unknown[] = [undefined, null, [], 'file', 5, {}, { site: url }, { services: FILE }]
    const others = [
      { site: 'gis.example.com', services: FILE },
      { site: 'https://kim:secret@gis.example.com/?token=secret', services: FILE },
      { site: url, services: FILE, '\ufeff$schema': 'x' },
      { site: url, services: FILE, version: 1 },
    ]
    for (const file of [...files, ...others]) {
      const error = await planWebhooks(admin, file as WebhookFile).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'config_invalid' })
      expect(String(error)).not.toContain('secret')
    }
    expect(sent).toEqual([])
  })

  it('keeps only the origin of the site', async () => {
    const { admin, url } = await start('service')
    const site = url.replace('://', '://kim:secret@')
    const { site: shown } = await planWebhooks(admin, { site: `${site}/?token=secret`, services: FILE })
    expect([shown]).toEqual([url])
  })
})

describe('the names of webhooks', () => {
  it.each<[webhooks: string, entries: Record<string, string>, changes: string[]]>([
    ['a', { b: 'a' }, ['edit a name=b']],
    ['b', { b: 'a' }, []],
    ['a b', { b: 'a' }, []],
    ['a', { a: 'a' }, []],
    ['a', { a: 'x' }, []],
    // A chain: the last one is first renamed.
    ['a b', { b: 'a', c: 'b' }, ['edit b name=c', 'edit a name=b']],
    ['a b', { c: 'b', b: 'a' }, ['edit b name=c', 'edit a name=b']],
    ['a c', { b: 'a', c: 'b' }, ['edit a name=b']],
    ['a b c', { d: 'c', c: 'b', b: 'a' }, ['edit c name=d', 'edit b name=c', 'edit a name=b']],
    ['a b c', { c: 'b', b: 'a' }, []],
    // A cycle has no first rename.
    ['a b', { a: 'b', b: 'a' }, []],
    ['a b c', { a: 'b', b: 'c', c: 'a' }, []],
    ['a b', { a: 'c', b: 'a', c: 'b' }, ['edit b name=c', 'edit a name=b', 'create a']],
    // The old name of one is the name of another.
    ['a', { b: 'a', a: '' }, ['edit a name=b', 'create a']],
    ['a b', { b: 'a', a: '' }, []],
    ['a', { b: 'a', c: 'a' }, ['edit a name=b', 'create c']],
    [
      '__proto__',
      { constructor: '__proto__', toString: '' },
      ['edit __proto__ name=constructor', 'create toString'],
    ],
  ])('webhooks %s and %j: %j', async (webhooks, entries, expected) => {
    const started = await start('service', { webhooks: seeds(PARCELS, ...webhooks.split(' ')) })
    const ids = new Map(started.mock.snapshot().webhooks.map(({ name, id }) => [name, id]))
    const declared = Object.entries(entries).map(([name, was]) => ({
      name,
      hookUrl: FLOW,
      ...(was && { was }),
    }))
    const services = { [PARCELS]: declared }
    const planned = await plan(started, services)
    expect(shown(planned).map((text) => text.replace(/(create \w+).*/, '$1'))).toEqual(expected)
    expect((await applyPlan(planned)).map(({ state }) => state)).toEqual(expected.map(() => 'done'))
    expect(new Set(namesIn(started))).toEqual(new Set([...namesIn(started), ...Object.keys(entries)]))
    for (const [, from, to] of expected.join('\n').matchAll(/edit (\w+) name=(\w+)/g))
      expect(started.mock.snapshot().webhooks.find(({ name }) => name === to)?.id).toBe(
        ids.get(from as string),
      )
    expect(shown(await plan(started, services))).toEqual([])
  })

  it('can contain the text of a variable, and variables', async () => {
    const names = ['${', '${A}', '$${A}', '$${', 'a${{A}}', '$ {A}', '}${A']
    const hookUrl = 'https://flows.example/${a/$${A}?sig=a-secret'
    const webhooks = seeds(PARCELS, ...names).map((webhook) => ({ ...webhook, hookUrl }))
    const started = await start('service', { webhooks })
    const { file, variables } = await pullWebhooks(started.admin)
    const values = { A: 'A', ...Object.fromEntries(variables.map(({ name }) => [name, 'a-secret'])) }
    const planned = await plan(started, file.services, { variables: values })
    expect(changesIn(planned)).toEqual([])
    const created = await plan(
      started,
      { [PARCELS]: [{ name: '$${B} ${A}', hookUrl: HOOK }] },
      { variables: { A: 'A' } },
    )
    expect(changesIn(created).map(({ name }) => name)).toEqual(['${B} A'])
  })

  it('are ambiguous if two webhooks of the service have the same name', async () => {
    const started = await start('service', {
      webhooks: seeds(PARCELS, 'edits', 'other', 'third'),
      before: (_req, res) => {
        const end = res.end.bind(res) as (body?: unknown) => typeof res
        res.end = ((body: unknown) => end(String(body).replace('"other"', '"edits"'))) as typeof res.end
        return false
      },
    })
    for (const entry of [{ name: 'edits' }, { name: 'x', was: 'edits' }])
      await expect(plan(started, { [PARCELS]: [entry] })).rejects.toMatchObject({ code: 'admin_ambiguous' })
    const planned = await plan(started, { [PARCELS]: [{ name: 'third' }] }, { deleteUnmanaged: true })
    expect(shown(planned)).toEqual(['delete edits', 'delete edits'])
    await applyPlan(planned)
    expect(namesIn(started)).toEqual(['third'])
  })
})

describe('variables', () => {
  it('fill every text', async () => {
    const started = await start('portal', { webhooks: [] })
    const { url } = started
    const server = await start('service', { webhooks: seeds(PARCELS, 'edits') })
    const variables = {
      A: 'edits',
      HOST: new URL(url).host,
      E: 'FeaturesDeleted',
      J: 'json',
      H: 'hour',
      OLD: 'edits',
    }
    const entry = {
      name: 'new ${A}',
      was: '${OLD}',
      hookUrl: 'http://${HOST}/hook?a=${A}&b=$${A}',
      changeTypes: ['${E}'],
      contentType: 'application/${J}',
      payloadFormat: '${J}',
      schedule: { name: '${A}', state: 'en${X}', recurrenceInfo: { interval: 2, frequency: '${H}' } },
      key: { env: '${A}_KEY' },
    } as unknown as DeclaredWebhook
    const readKey = (reference: object): string => JSON.stringify(reference)
    const options = { variables: { ...variables, X: 'abled' }, readKey }
    await applyPlan(await plan(server, { [PARCELS]: [entry] }, options))
    expect(server.mock.snapshot().webhooks).toMatchObject([
      {
        name: 'new edits',
        hookUrl: `http://${variables.HOST}/hook?a=edits&b=\${A}`,
        changeTypes: ['FeaturesDeleted'],
        contentType: 'application/json',
        payloadFormat: 'json',
        scheduleInfo: { name: 'edits', state: 'enabled', recurrenceInfo: { interval: 2, frequency: 'hour' } },
        signatureKey: '{"env":"edits_KEY"}',
      },
    ])
    const deactivation = { numberOfFailures: 1, daysInPast: 2 }
    const properties = { deep: [{ text: '${A}' }] }
    const organization = {
      name: '${A}',
      hookUrl: 'http://${HOST}/hook',
      changeTypes: ['/${A}'],
      deactivation,
      properties,
    }
    const services = { portal: [organization] }
    await applyPlan(await plan(started, services, { variables: { ...variables, A: 'items' } }))
    expect(started.mock.snapshot().webhooks).toMatchObject([
      { name: 'items', changeTypes: ['/items'], config: { properties: { deep: [{ text: 'items' }] } } },
    ])
  })

  it('must have a value', async () => {
    const started = await start('service')
    const entry = {
      name: '${A}${B}',
      hookUrl: 'http://${C}/${__proto__}?${toString}${}',
      contentType: '${D}',
    }
    const variables = { A: 'edits', B: '', C: undefined, D: 'application/json' }
    await expect(plan(started, { [PARCELS]: [entry] }, { variables })).rejects.toMatchObject({
      code: 'config_invalid',
      message: 'the file has variables without a value: B, C, __proto__, toString, ',
    })
    expect(started.sent).toEqual([])
  })

  it('a key must have a value', async () => {
    const started = await start('service')
    const services = { [PARCELS]: [{ name: 'edits', key: { env: 'A' } }] }
    for (const key of ['', undefined, null, 5] as unknown as string[])
      await expect(plan(started, services, { readKey: async () => key })).rejects.toMatchObject({
        code: 'config_invalid',
        message: `${PARCELS}, edits: key has no value`,
      })
    await expect(plan(started, services, { readKey: undefined })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })
})

describe('the services of a plan', () => {
  it('need a request for each, and one for each webhook', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `S${index}.FeatureServer`)
    const started = await start('service', { webhooks: names.flatMap((name) => seeds(name, 'edits')) })
    const services = Object.fromEntries(names.map((name) => [name, [{ name: 'edits' }]]))
    const planned = await plan(started, services)
    expect([planned.services.length, changesIn(planned), started.sent.length]).toEqual([200, [], 400])
  })

  it('are planned and pulled once, even if they are named twice', async () => {
    const started = await start('service')
    const services = [PARCELS, PARCELS]
    const planned = await plan(started, { [PARCELS]: [{ name: 'new', hookUrl: HOOK }] }, { services })
    expect(shown(planned)).toHaveLength(1)
    expect((await pullWebhooks(started.admin, { services })).variables).toHaveLength(2)
  })

  it('have no more webhooks than the limit', async () => {
    const started = await start('service', { webhooks: seeds(PARCELS, 'a', 'b', 'c') })
    const created = { name: 'new', hookUrl: HOOK }
    const run = (names: string[], options: PlanOptions): Promise<string[]> => {
      const declared = [...names.map((name) => ({ name })), created]
      return plan(started, { [PARCELS]: declared }, options).then(shown, (error: Error) => [error.message])
    }
    const isRefused = [expect.stringMatching(/would have \d webhooks, but the limit is \d/)]
    const create = expect.stringMatching(/^create new/)
    expect(await run(['a'], { limit: 3 })).toEqual(isRefused)
    expect(await run(['a'], { limit: 4 })).toEqual([create])
    expect(await run(['a', 'b'], { limit: 3, deleteUnmanaged: true })).toEqual(isRefused)
    expect(await run(['a', 'b'], { limit: 3, deleteUnmanaged: true, deleteFirst: true })).toEqual([
      'delete c',
      create,
    ])
    expect(await run(['a'], { limit: 2, deleteUnmanaged: true, deleteFirst: true })).toEqual([
      'delete b',
      'delete c',
      create,
    ])
    expect(
      shown(await plan(started, { [PARCELS]: [{ name: 'a', active: false }] }, { limit: 1 })),
    ).toHaveLength(1)
    expect(started.sent.some(isChange)).toBe(false)
  })

  it('are not emptied by an empty list, unless they are named', async () => {
    const started = await start('service', { webhooks: [...seeds(PARCELS, 'a', 'b'), ...seeds(ROADS, 'c')] })
    const services = { [PARCELS]: [], [ROADS]: [] }
    expect(changesIn(await plan(started, services))).toEqual([])
    const deleteUnmanaged = true
    await expect(plan(started, services, { deleteUnmanaged })).rejects.toMatchObject({
      code: 'config_invalid',
    })
    await expect(plan(started, services, { deleteUnmanaged, services: [] })).resolves.toEqual({
      site: started.url,
      services: [],
    })
    await applyPlan(await plan(started, services, { deleteUnmanaged, services: [PARCELS] }))
    expect(namesIn(started)).toEqual(['c'])
    for (const name of ['Other.FeatureServer', 'toString', '__proto__', 5 as unknown as string])
      await expect(plan(started, services, { services: [name] })).rejects.toMatchObject({
        code: 'config_invalid',
      })
  })
})

describe('applying a plan', () => {
  /** Three changes of one service, and one of another. */
  const CHANGED = {
    [PARCELS]: ['a', 'b', 'c'].map((name) => ({ name, active: false })),
    [ROADS]: [{ name: 'd', active: false }],
  }
  const startFour = (before?: Parameters<typeof start>[1]): Promise<Started> =>
    start('service', { webhooks: [...seeds(PARCELS, 'a', 'b', 'c'), ...seeds(ROADS, 'd')], ...before })
  const refuse = (path: string) => ({
    before: (...[req, res]: Parameters<NonNullable<NonNullable<Parameters<typeof start>[1]>['before']>>) => {
      if (!req.url?.endsWith(path)) return false
      req.resume().on('end', () => res.end('{"error":{"code":400,"message":"No."}}'))
      return true
    },
  })

  it('stops a service at its first failure, and continues with the next service', async () => {
    const started = await startFour(refuse('Parcels-b/edit'))
    const calls: string[] = []
    const applied = await applyPlan(await plan(started, CHANGED), {
      onChange: ({ name, ...change }) => calls.push(`${name}${'state' in change ? ` ${change.state}` : ''}`),
    })
    expect(applied.map(({ name, state, result, error }) => [name, state, result?.changed, error])).toEqual([
      ['a', 'done', ['active'], undefined],
      ['b', 'failed', undefined, expect.objectContaining({ code: 'admin_refused' })],
      ['c', 'not begun', undefined, undefined],
      ['d', 'done', ['active'], undefined],
    ])
    expect(calls).toEqual(['a', 'a done', 'b', 'b failed', 'd', 'd done'])
    expect(started.mock.snapshot().webhooks.map(({ active }) => active)).toEqual([false, true, true, false])
  })

  it('waits for onChange, and begins nothing after its exception', async () => {
    for (const [failing, made] of [
      ['b', 1],
      ['a done', 1],
      ['a', 0],
    ] as const) {
      const started = await startFour()
      const writes = (): number => started.sent.filter(isChange).length
      const seen: number[] = []
      const promise = applyPlan(await plan(started, CHANGED), {
        async onChange({ name, ...change }) {
          const before = writes()
          await new Promise((resolve) => setTimeout(resolve, 5))
          seen.push(writes() - before)
          if (`${name}${'state' in change ? ` ${change.state}` : ''}` === failing) throw new Error('stop')
        },
      })
      await expect(promise).rejects.toThrow('stop')
      expect([writes(), seen.every((count) => count === 0)]).toEqual([made, true])
    }
  })

  it('writes nothing to a webhook that has changed since', async () => {
    const started = await startFour()
    const { mock } = started
    const planned = await plan(
      started,
      {
        [PARCELS]: [
          { name: 'a', active: false },
          { name: 'new', hookUrl: HOOK },
        ],
        [ROADS]: [{ name: 'd', active: false }],
      },
      { deleteUnmanaged: true },
    )
    expect(planned.services.map(({ changes }) => changes.length)).toEqual([4, 1])
    for (const { id } of mock.snapshot().webhooks) await mock.edit(id, { contentType: 'application/json' })
    await mock.create({ serviceName: 'Parcels', name: 'new', hookUrl: HOOK })
    const theirs = mock.snapshot()
    const [parcels, roads] = planned.services
    for (const change of [...(parcels?.changes ?? []), ...(roads?.changes ?? [])]) {
      const service = { ...parcels, changes: [change] } as Plan['services'][number]
      const [applied] = await applyPlan({ ...planned, services: [service] })
      expect(applied).toMatchObject({ state: 'failed', error: { code: 'admin_conflict' } })
    }
    expect([mock.snapshot(), started.sent.some(isChange)]).toEqual([theirs, false])
  })

  it('makes no change twice', async () => {
    const started = await startFour()
    const planned = await plan(started, {
      [PARCELS]: [
        { name: 'a', active: false },
        { name: 'new', hookUrl: HOOK },
      ],
    })
    await applyPlan(planned)
    const after = started.mock.snapshot()
    expect((await applyPlan(planned)).map(({ state }) => state)).toEqual(['failed', 'not begun'])
    expect(started.mock.snapshot()).toEqual(after)
  })

  it('refuses a plan that was stored', async () => {
    const started = await startFour()
    const planned = JSON.parse(JSON.stringify(await plan(started, CHANGED)))
    await expect(applyPlan(planned)).rejects.toMatchObject({ code: 'config_invalid' })
    expect(started.sent.some(isChange)).toBe(false)
  })
})

describe('members that a service does not show', () => {
  const schedule = { startAt: 1_700_000_000_000 }

  it('are sent with an edit: the start of a schedule at ArcGIS Online', async () => {
    const started = await start('online', { like: { omitted: 'reset' } })
    const entry = { name: 'edits', contentType: 'application/json', schedule }
    const planned = await plan(started, { [PARCELS]: [{ ...entry, active: false }] })
    expect(shown(planned)).toEqual(['edit edits active=false'])
    expect(planned.services[0]?.notCompared).toEqual([
      { name: 'edits', members: ['contentType', 'schedule'] },
    ])
    await applyPlan(planned)
    const { scheduleInfo } = stored('online')
    expect(started.mock.snapshot().webhooks).toMatchObject([
      { active: false, contentType: 'application/json', scheduleInfo: { ...scheduleInfo, ...schedule } },
    ])
    expect(changesIn(await plan(started, { [PARCELS]: [{ ...entry, active: false }] }))).toEqual([])
  })

  it('are set if a webhook has none: the start of a schedule', async () => {
    const started = await start('service', { webhooks: [stored('service', { scheduleInfo: {} })] })
    const services = { [PARCELS]: [{ name: 'edits', schedule }] }
    await applyPlan(await plan(started, services))
    expect(started.mock.snapshot().webhooks).toMatchObject([{ scheduleInfo: schedule }])
    expect(changesIn(await plan(started, services))).toEqual([])
  })
})

it.each(PRODUCTS)(
  '%s: an edit needs a key that is not shown, and a switch of a portal does not',
  async (product) => {
    const started = await start(product, { like: { keys: 'hidden' } })
    const service = product === 'portal' ? 'portal' : PARCELS
    const run = (entry: DeclaredWebhook): Promise<unknown> =>
      plan(started, { [service]: [entry] }).then(applyPlan, (error: WebhookError) => error.message)
    const needed = expect.stringContaining('an edit needs the member key')
    expect(await run({ name: 'edits', hookUrl: HOOK, active: false })).toEqual(needed)
    expect(started.sent.some(isChange)).toBe(false)
    const switched = await run({ name: 'edits', active: false })
    expect(switched).toEqual(product === 'portal' ? [expect.objectContaining({ state: 'done' })] : needed)
    expect(await run({ name: 'edits', key: { env: 'KEY' }, active: true })).toMatchObject(
      product === 'portal' ? [{ state: 'done' }] : [],
    )
    expect(started.mock.snapshot().webhooks).toMatchObject([{ active: true, signatureKey: KEY }])
  },
)

it.each(PRODUCTS)('%s: change types are the same in every form', async (product) => {
  const service = product === 'portal' ? 'portal' : PARCELS
  const all = product === 'portal' ? [['/'], ['*', '/items']] : [['All'], ['*', 'FeaturesCreated']]
  const some = product === 'portal' ? ['/items', '/groups'] : ['FeaturesCreated', 'FeaturesDeleted']
  const lists = [...[['*'], ...all], some, [...some, ...some].reverse()]
  const started = await start(product)
  const states: string[][] = []
  for (const changeTypes of lists) {
    const services = { [service]: [{ name: 'edits', changeTypes }] }
    const planned = await plan(started, services)
    states.push((await applyPlan(planned)).map(({ state }) => state))
    expect(changesIn(await plan(started, services))).toEqual([])
  }
  expect(states).toEqual([['done'], [], [], ['done'], []])
})

it('a key that is not shown is sent with sendKeys, or with another change', async () => {
  for (const [keys, other, sendKeys, members] of [
    ['hidden', {}, false, undefined],
    ['hidden', {}, true, ['key']],
    ['masked', {}, true, ['key']],
    ['hidden', { active: false }, false, ['active']],
    ['hidden', { active: false }, true, ['active', 'key']],
    ['shown', {}, false, ['key']],
  ] as const) {
    const started = await start('service', { like: { keys } })
    const services = { [PARCELS]: [{ name: 'edits', key: { env: 'KEY' }, ...other }] }
    const planned = await plan(started, services, { sendKeys, readKey: () => 'a-new-key-2026' })
    expect(changesIn(planned).map((change) => change.members.map(({ member }) => member))).toEqual(
      members ? [members] : [],
    )
    expect(planned.services[0]?.notCompared.length).toBe(keys === 'shown' ? 0 : 1)
    await applyPlan(planned)
    expect(started.mock.snapshot().webhooks[0]?.signatureKey).toBe(members ? 'a-new-key-2026' : KEY)
  }
})

const seconds = (interval: number) => ({ recurrenceInfo: { interval, frequency: 'second' } }) as const
const minutes = (interval: number) => ({ recurrenceInfo: { interval, frequency: 'minute' } }) as const
const PAST = 1_600_000_000_000
const FUTURE = 4_000_000_000_000

it('at ArcGIS Online, an interval of 30 seconds counts as raised', async () => {
  const scheduleInfo = { ...stored('online').scheduleInfo, ...seconds(30) } as Stored['scheduleInfo']
  const started = await start('online', { webhooks: [stored('online', { scheduleInfo })] })
  const planned = await plan(started, { [PARCELS]: [{ name: 'edits', schedule: seconds(5) }] })
  expect([changesIn(planned), planned.services[0]?.notes.length]).toEqual([[], 1])
})

it.each<[stored: object, wanted: NonNullable<DeclaredWebhook['schedule']>, isEdited: boolean]>([
  // Services raise short intervals to 60 seconds, ArcGIS Online to 30 too.
  [seconds(60), seconds(5), false],
  [seconds(30), seconds(29), true],
  [seconds(45), seconds(5), true],
  [minutes(5), seconds(5), true],
  [seconds(30), seconds(31), true],
  // They move the start to a later time.
  [{ startAt: PAST }, { startAt: PAST - 1 }, false],
  [{ startAt: PAST }, { startAt: PAST + 1 }, true],
  [{ startAt: FUTURE }, { startAt: PAST }, false],
  [{ startAt: FUTURE }, { startAt: FUTURE - 1 }, true],
  [{ startAt: PAST, ...seconds(60) }, { startAt: PAST - 1, ...seconds(5) }, false],
  [{ startAt: PAST, ...seconds(60) }, { startAt: PAST - 1, ...seconds(5), state: 'enabled' }, true],
])('a schedule with %j is edited to %j: %s', async (members, schedule, isEdited) => {
  const scheduleInfo = { ...stored('service').scheduleInfo, ...members } as Stored['scheduleInfo']
  const started = await start('service', { webhooks: [stored('service', { scheduleInfo })] })
  const services = { [PARCELS]: [{ name: 'edits', schedule }] }
  const planned = await plan(started, services)
  expect([changesIn(planned).length, planned.services[0]?.notes.length]).toEqual(isEdited ? [1, 0] : [0, 1])
  await applyPlan(planned)
  expect(changesIn(await plan(started, services))).toEqual([])
  const after = isEdited ? { ...scheduleInfo, ...schedule } : scheduleInfo
  expect(started.mock.snapshot().webhooks).toMatchObject([{ scheduleInfo: after }])
})

it('a member that is undefined is left out', async () => {
  const started = await start('online')
  const members = { changeTypes: undefined, was: undefined, key: undefined, active: undefined }
  const services = {
    [PARCELS]: [{ name: 'edits' }, { name: 'new', hookUrl: HOOK }].map((entry) => ({ ...members, ...entry })),
  }
  const planned = await plan(started, services as unknown as WebhookFile['services'])
  expect(shown(planned)).toEqual([expect.stringMatching(/^create new active=true name=new hookUrl=\S+$/)])
  await applyPlan(planned)
  expect(started.mock.snapshot().webhooks[1]).toMatchObject({
    active: true,
    signatureKey: '',
    changeTypes: ['*'],
  })
})

describe('a pulled file', () => {
  it('does not take webhooks without a service for those of the portal', async () => {
    const { admin } = await start('online', {
      before: (_req, res) => {
        const end = res.end.bind(res) as (body?: unknown) => typeof res
        res.end = ((body: unknown) =>
          end(String(body).replaceAll('"serviceUrl"', '"otherUrl00"'))) as typeof res.end
        return false
      },
    })
    await expect(pullWebhooks(admin)).rejects.toMatchObject({
      code: 'config_invalid',
      hint: 'Name the services.',
    })
    const { file } = await pullWebhooks(admin, { services: [PARCELS] })
    expect(file.services[PARCELS]).toHaveLength(1)
  })

  it('has variables for properties with secret names, unless they are empty', async () => {
    const properties = {
      token: '',
      list: [{ secret: { of: ['secret-1', ''] }, password: 'secret-2' }],
      a: 'b',
    }
    const config = { deactivationPolicy: { numberOfFailures: 1, daysInPast: 1 }, properties }
    const started = await start('portal', { webhooks: [stored('portal', { config })] })
    const { file, variables } = await pullWebhooks(started.admin)
    expect(JSON.stringify(file)).not.toMatch(/secret-\d/)
    const secrets = ['PORTAL_EDITS_SECRET', 'PORTAL_EDITS_PASSWORD']
    expect(variables.filter(({ member }) => member === 'properties').map(({ name }) => name)).toEqual(secrets)
    const values = Object.fromEntries(variables.map(({ name }) => [name, 'Zm9vYmFy_Flow-Secret']))
    Object.assign(values, { [secrets[0] as string]: 'secret-1', [secrets[1] as string]: 'secret-2' })
    expect(changesIn(await plan(started, file.services, { variables: values }))).toEqual([])
  })
})

it('plans no change for a part of a schedule that is as stored', async () => {
  const scheduleInfo = { ...stored('service').scheduleInfo, ...minutes(2) } as Stored['scheduleInfo']
  const started = await start('service', { webhooks: [stored('service', { scheduleInfo })] })
  for (const [part, count] of [
    [{ frequency: 'minute' }, 0],
    [{ interval: 2 }, 0],
    [{ interval: 3 }, 1],
  ] as const) {
    const schedule = { recurrenceInfo: part } as unknown as Schedule
    const planned = await plan(started, { [PARCELS]: [{ name: 'edits', schedule }] })
    expect([part, changesIn(planned).length]).toEqual([part, count])
  }
})

it('does not delete a webhook that the file names as an old name', async () => {
  const webhooks = [stored('service', { id: 'a', name: 'a' }), stored('service', { id: 'b', name: 'b' })]
  const started = await start('service', { webhooks })
  const planned = await plan(started, { [PARCELS]: [{ name: 'b', was: 'a' }] }, { deleteUnmanaged: true })
  expect([changesIn(planned), planned.services[0]?.unmanaged]).toEqual([[], ['a']])
})

it('hides secrets of properties, also in URLs and numbers', async () => {
  const secret = 'a81bc81bdead4e5dabff'
  const config = (note: string) => ({
    deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 },
    properties: { next: `https://flows.example/${secret}/run`, pwd: 31415926, note },
  })
  const started = await start('portal', { webhooks: [stored('portal', { config: config('old') })] })
  const { file } = await pullWebhooks(started.admin)
  const properties = { ...config('new').properties }
  const planned = await plan(started, { portal: [{ name: 'edits', properties }] })
  expect(changesIn(planned).length).toBe(1)
  expectNone(JSON.stringify([file, planned]), [secret, '31415926'])
})

it.each([null, {}, { services: 5 }, { services: [{}] }])('applyPlan rejects %j', async (given) => {
  await expect(applyPlan(given as unknown as Plan)).rejects.toMatchObject({ code: 'config_invalid' })
})
