import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { WebhookError } from 'geohook'
import type { AdminError, ChangeResult, Member, NewWebhook, WebhookChanges, Webhooks } from 'geohook/admin'
import type { FaultSeed, Webhook as Stored } from 'geohook/mock'
import { expect, it } from 'vitest'
import {
  changesOf,
  compare,
  faults,
  hiddenMembers,
  keyOf,
  type Setting,
  valuesOf,
  wantedAfter,
} from './model.ts'
import { expectNone, PRODUCTS, printed, type Started, start, stored } from './support.ts'

/**
 * The seed of this run, shown in the title. To repeat a failure:
 * `SEED=… npm run test:long -- test/admin/histories.long.ts`. `RUNS` is the number of histories.
 */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env.RUNS ?? 100)

/** One at a time: a client cannot find out that a change was made whose answer is lost, and which is not as requested. */
const failure: fc.Arbitrary<FaultSeed | undefined> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant<FaultSeed>({ fault: 'admin_answer_lost', times: 1 }) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(
        ...(['name', 'changeTypes', 'signatureKey', 'hookUrl', 'active', 'contentType'] as const),
        ...(['scheduleInfo', 'payloadFormat', 'config'] as const),
      )
      .map((member) => ({ fault: 'edit_member_ignored', times: 1, member }) as const),
  },
)

const KINDS = ['edit', 'edit', 'edit', 'activate', 'deactivate', 'create', 'delete'] as const

const histories = fc
  .record({
    product: fc.constantFrom(...PRODUCTS),
    isJob: fc.boolean(),
    keys: fc.constantFrom('shown', 'hidden', 'masked'),
    omitted: fc.constantFrom('keep', 'reset'),
  })
  .chain(({ isJob, ...setting }) => {
    const { product } = setting
    const serviceType =
      product === 'portal'
        ? ('Portal' as const)
        : isJob && product !== 'online'
          ? ('GPServer' as const)
          : ('FeatureServer' as const)
    const { some, named, all } = changesOf({ product, serviceType })
    const step = fc.record({
      kind: fc.constantFrom(...KINDS),
      changes: some,
      created: named,
      takesName: fc.boolean(),
      givesKey: fc.boolean(),
      key: keyOf(product),
      faults,
      failure,
    })
    return fc.record({
      setting: fc.constant({ ...setting, serviceType }),
      first: all,
      hasSchedule: fc.boolean(),
      steps: fc.array(step, { minLength: 1, maxLength: 6 }),
    })
  })

type History = typeof histories extends fc.Arbitrary<infer T> ? T : never
type Step = History['steps'][number]

/** What a call of the client led to. */
type Outcome = { result: ChangeResult | undefined } | { error: AdminError }

const BYSTANDER = 'of another user'

class Run {
  readonly #started: Started
  readonly #setting: Setting
  readonly #secrets = new Set<string>()
  readonly #bystander: Stored

  constructor(started: Started, setting: Setting) {
    this.#started = started
    this.#setting = setting
    this.#bystander = this.#stored(BYSTANDER) as Stored
    for (const webhook of started.mock.snapshot().webhooks) this.#keep(webhook.signatureKey, webhook.hookUrl)
  }

  #stored(name: string): Stored | undefined {
    return this.#started.mock.snapshot().webhooks.find((webhook) => webhook.name === name)
  }

  /** All webhooks but the bystander. */
  #own(): Stored[] {
    const webhooks = this.#started.mock.snapshot().webhooks
    expect(
      webhooks.find(({ id }) => id === this.#bystander.id),
      'the other webhook',
    ).toEqual(this.#bystander)
    return webhooks.filter(({ id }) => id !== this.#bystander.id)
  }

  #keep(key: string | undefined, url: string | undefined): void {
    if (key) this.#secrets.add(key)
    for (const [, value = ''] of url?.matchAll(/(?:code=|sig=%2B)([^&]+)/g) ?? []) this.#secrets.add(value)
  }

  /** Calls the client, and checks that nothing that it returns or throws is printed with a secret. */
  async #call(call: (webhooks: Webhooks) => Promise<unknown>): Promise<Outcome> {
    try {
      const { admin, webhooks } = this.#started
      const isJob = this.#setting.serviceType === 'GPServer'
      const result = await call(isJob ? admin.service('Parcels.GPServer') : webhooks)
      expectNone(inspect(result, { depth: 9 }) + JSON.stringify(result), [...this.#secrets])
      return { result: result as ChangeResult | undefined }
    } catch (error) {
      expectNone(printed(error), [...this.#secrets])
      if (error instanceof WebhookError) return { error: error as AdminError }
      throw error
    }
  }

  async step(step: Step): Promise<void> {
    const { mock, url } = this.#started
    const host = new URL(url).host
    const toUrl = <T extends WebhookChanges>(changes: T): T =>
      changes.hookUrl === undefined ? changes : { ...changes, hookUrl: changes.hookUrl.replace('@', host) }
    const [target] = this.#own()
    if (step.kind === 'create' || !target) return this.#create(step, toUrl(step.created))
    for (const fault of [...step.faults, ...(step.failure ? [step.failure] : [])]) mock.faults.add(fault)
    if (step.kind === 'delete') await this.#delete(target, step)
    else {
      const key = step.givesKey ? { key: step.key } : {}
      const changes =
        step.kind === 'edit'
          ? {
              ...toUrl(step.changes),
              ...key,
              ...(step.takesName && step.key === '' ? { name: BYSTANDER } : {}),
            }
          : { active: step.kind === 'activate', ...key }
      await this.#edit(target, changes, step)
    }
    mock.faults.clear()
  }

  async #delete(target: Stored, { failure }: Step): Promise<void> {
    const others = this.#own().filter(({ id }) => id !== target.id)
    const outcome = await this.#call((webhooks) => webhooks.delete(target.name))
    expect(outcome, `with ${failure?.fault}`).toEqual({ result: undefined })
    expect(this.#own()).toEqual(others)
  }

  async #create({ takesName }: Step, given: NewWebhook): Promise<void> {
    const wanted = takesName ? { ...given, name: BYSTANDER } : given
    this.#keep(wanted.key, wanted.hookUrl)
    const before = this.#own()
    const isTaken = takesName || before.some(({ name }) => name === wanted.name)
    const outcome = await this.#call((webhooks) => webhooks.create(wanted))
    if (isTaken) {
      expect('error' in outcome && outcome.error.code).toBe('admin_conflict')
      return expect(this.#own()).toEqual(before)
    }
    const created = this.#own().find(({ name }) => name === wanted.name) as Stored
    expect(this.#own()).toEqual([...before, created])
    this.#check(outcome, wantedAfter({}, wanted), created)
  }

  async #edit(target: Stored, changes: WebhookChanges, { kind, failure }: Step): Promise<void> {
    this.#keep(changes.key, changes.hookUrl)
    const setting = this.#setting
    const all = this.#own()
    const outcome = await this.#call((webhooks) =>
      kind === 'edit'
        ? webhooks.edit(target.id, changes)
        : webhooks[kind as 'activate'](target.id, changes.key === undefined ? {} : { key: changes.key }),
    )
    const code = 'error' in outcome ? outcome.error.code : undefined
    const others = [
      changes.name === BYSTANDER,
      all.some(({ id, name }) => id !== target.id && name === changes.name),
    ]
    const names = Object.keys(changes)
    // Without changes, nothing is written.
    const isSwitch =
      names.length === 0 || (setting.product === 'portal' && names.every((name) => name === 'active'))
    if (hiddenMembers(target, setting).includes('key') && changes.key === undefined && !isSwitch) {
      expect(code).toBe('config_invalid')
      return expect(this.#own()).toEqual(all)
    }
    const after = this.#own().find(({ id }) => id === target.id) as Stored
    const isIgnored = after.name === target.name && code !== 'admin_refused'
    if (others.includes(true) && !isIgnored) {
      expect(code).toBe('admin_refused')
      return expect(this.#own()).toEqual(all)
    }
    expect(this.#own().filter(({ id }) => id !== target.id)).toEqual(all.filter(({ id }) => id !== target.id))
    const wanted = wantedAfter(valuesOf(target, setting), changes)
    // If the service does not store or show what was asked, and its answer is lost, the client cannot know that it was made.
    if (code === 'admin_unknown' && failure?.fault === 'admin_answer_lost') {
      const { different } = compare(wanted, valuesOf(after, setting), valuesOf(target, setting))
      const hidden = hiddenMembers(after, setting).filter((name) => name in changes)
      return expect(different.length + hidden.length).toBeGreaterThan(0)
    }
    const result = this.#check(outcome, wanted, after, valuesOf(target, setting))
    const isVisible = (name: Member): boolean =>
      ![target, after].some((webhook) => hiddenMembers(webhook, setting).includes(name))
    const [before, now] = [valuesOf(target, setting), valuesOf(after, setting)]
    const changed = (Object.keys(now) as Member[]).filter(
      (name) => !isDeepStrictEqual(before[name], now[name]),
    )
    expect(new Set(result.changed.filter(isVisible)), 'changed').toEqual(new Set(changed.filter(isVisible)))
  }

  /** Checks that the webhook is as wanted, or that the client names each member that is not, and no other. */
  #check(
    outcome: Outcome,
    wanted: ReturnType<typeof wantedAfter>,
    after: Stored,
    old?: ReturnType<typeof wantedAfter>,
  ): ChangeResult {
    const hidden = hiddenMembers(after, this.#setting)
    const found = compare(wanted, valuesOf(after, this.#setting), old)
    const visible = (names: readonly Member[]) => names.filter((name) => !hidden.includes(name)).sort()
    const { error } = outcome as { error?: AdminError }
    const different = visible(found.different)
    expect([error?.code, error?.message]).toEqual(
      different.length > 0 ? ['admin_not_applied', expect.any(String)] : [undefined, undefined],
    )
    expect([...(error?.different ?? [])].map(({ member }) => member).sort()).toEqual(different)
    const result = error ? error.result : (outcome as { result?: ChangeResult }).result
    if (!result) return expect.fail('no result')
    expect(result.adjusted.map(({ member }) => member).sort(), 'adjusted').toEqual(visible(found.adjusted))
    // ArcGIS Online shows no `startAt`.
    const partial = this.#setting.product === 'online' ? ['schedule'] : []
    expect([...result.notCompared].sort(), 'not compared').toEqual([...hidden, ...partial].sort())
    return result
  }
}

async function play({ setting, first, hasSchedule, steps }: History): Promise<void> {
  const { serviceType, ...like } = setting
  const { product, keys } = like
  const started = await start(product, {
    webhooks: [],
    admin: { timeout: 1000 },
    like: { ...like, window: undefined },
  })
  const { changeTypes, schedule, deactivation: deactivationPolicy, properties, key, ...members } = first
  const webhook = stored(product, {
    serviceType,
    ...(members as Partial<Stored>),
    changeTypes: [...changeTypes],
    signatureKey: key,
    hookUrl: first.hookUrl.replace('@', new URL(started.url).host),
    scheduleInfo: (hasSchedule && schedule ? schedule : {}) as Stored['scheduleInfo'],
    ...(product === 'portal' ? { config: { deactivationPolicy, properties } } : {}),
  })
  const bystander = { ...webhook, id: 'b0', name: BYSTANDER }
  started.mock.restore({ webhooks: [webhook, bystander] })
  const run = new Run(started, { product, serviceType, keys })
  for (const step of steps) await run.step(step)
  await started.close()
}

it(`random histories of webhooks, seed ${seed}`, async () => {
  await fc.assert(fc.asyncProperty(histories, play), { seed, numRuns })
})
