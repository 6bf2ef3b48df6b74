import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import {
  type Admin,
  type AdminError,
  type AdminOptions,
  type AppliedChange,
  applyPlan,
  createAdmin,
  type DeclaredWebhook,
  type KeyReference,
  type Member,
  type Plan,
  type PlanOptions,
  planWebhooks,
  pullWebhooks,
  type Schedule,
  type WebhookChanges,
  type WebhookFile,
} from 'geohook/admin'
import type { MockService, Webhook as Stored } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import {
  changesOf,
  compare,
  faults,
  hiddenMembers,
  type Setting,
  secondsOf,
  valuesOf,
  wantedAfter,
} from './model.ts'
import {
  expectNone,
  PRODUCTS,
  type Product,
  printed,
  type Started,
  type StartOptions,
  start,
  stored,
} from './support.ts'

/** See histories.long.ts. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env.RUNS ?? 100)

type Fetch = NonNullable<AdminOptions['fetch']>

const TOKEN = 'the-t0ken/of+kim'
const PORTAL = 'portal'
const SERVICES = ['Parcels.FeatureServer', 'folder/Roads.FeatureServer', 'Buffer.GPServer', PORTAL]
const SERVICES_OF: Record<Product, readonly string[]> = {
  service: SERVICES,
  enterprise: SERVICES,
  online: SERVICES.filter((service) => service !== 'Buffer.GPServer'),
  portal: [PORTAL],
}

const settingOf = (product: Product, service: string, keys: Setting['keys']): Setting => ({
  product: service === PORTAL ? 'portal' : product,
  serviceType: service === PORTAL ? 'Portal' : (service.split('.')[1] as Stored['serviceType']),
  keys,
})

/** What becomes of a webhook. `chain`: it gets the old name of one that is renamed. */
const KINDS = ['keep', 'keep', 'edit', 'edit', 'rename', 'chain', 'remove'] as const

const serviceOf = (product: Product, service: string) => {
  const { some, named, all } = changesOf(settingOf(product, service, 'shown'))
  const fate = fc.record({
    kind: fc.constantFrom(...KINDS),
    /** Which of its members the file has. */
    declared: fc.bigInt({ min: 0n, max: 1023n }).map(Number),
    changes: some,
    isRespelled: fc.boolean(),
    /** The file has the stored schedule with another interval or start. */
    near: fc.option(
      fc.oneof(
        fc.record({
          recurrenceInfo: fc.record({
            interval: fc.constantFrom(1, 30, 60, 61),
            frequency: fc.constant('second'),
          }),
        }),
        fc.record({ startAt: fc.constantFrom(0, 1_600_000_000_000, 2 ** 45) }),
      ),
      { freq: 1 },
    ),
  })
  const webhook = fc.record({ members: all, hasSchedule: fc.boolean(), fate })
  return fc.record({
    service: fc.constant(service),
    webhooks: fc.array(webhook, { maxLength: 6 }),
    added: fc.array(fc.record({ members: named, takesFreed: fc.boolean() }), { maxLength: 3 }),
  })
}

const cases = fc
  .record({
    product: fc.constantFrom(...PRODUCTS),
    keys: fc.constantFrom('shown', 'hidden', 'masked'),
    omitted: fc.constantFrom('keep', 'reset'),
  })
  .chain((like) =>
    fc.record({
      like: fc.constant(like),
      services: fc
        .subarray([...SERVICES_OF[like.product]], { minLength: 1 })
        .map((names) => names.slice(0, 3))
        .chain((names) => fc.tuple(...names.map((name) => serviceOf(like.product, name)))),
      options: fc.record({
        deleteUnmanaged: fc.boolean(),
        deleteFirst: fc.boolean(),
        sendKeys: fc.boolean(),
      }),
      faults,
      lost: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
      usesVariables: fc.boolean(),
    }),
  )

type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never

/** A webhook of the file with its real values. */
interface Wanted {
  service: string
  /** Undefined for a new webhook. */
  before: Stored | undefined
  given: WebhookChanges & { name: string }
  was: string | undefined
}

/** The file, the values that it refers to, and what it means. */
class Files {
  readonly variables: Record<string, string> = {}
  readonly keys = new Map<string, string>()
  readonly wanted: Wanted[] = []

  readonly readKey = (reference: KeyReference): string => this.keys.get(JSON.stringify(reference)) ?? ''

  /** Writes a text with a variable for its second half, or only escaped. */
  #write(text: string, usesVariables: boolean): string {
    const half = usesVariables ? text.length >> 1 : text.length
    const escaped = (part: string): string => part.replaceAll('${', () => '$${')
    // A variable directly after a dollar sign would be an escaped one.
    if (half === text.length || text[half - 1] === '$') return escaped(text)
    const name = `V${Object.keys(this.variables).length}`
    this.variables[name] = text.slice(half)
    return `${escaped(text.slice(0, half))}\${${name}}`
  }

  #writeAll(value: unknown, usesVariables: boolean): unknown {
    if (typeof value === 'string') return this.#write(value, usesVariables)
    if (Array.isArray(value)) return value.map((item) => this.#writeAll(item, usesVariables))
    if (typeof value !== 'object' || value === null) return value
    const members = Object.entries(value)
    return Object.fromEntries(members.map(([name, item]) => [name, this.#writeAll(item, usesVariables)]))
  }

  /** @param usesVariables whether texts contain variables */
  describe({ given, was }: Wanted, usesVariables: boolean): DeclaredWebhook {
    const { key, changeTypes: types, ...members } = given
    // In another order, and in another spelling.
    const changeTypes = types && [...types].reverse().map((name) => (name === '*' ? 'All' : name))
    const entry = this.#writeAll({ ...members, changeTypes, was }, usesVariables) as DeclaredWebhook
    if (!changeTypes) delete entry.changeTypes
    if (was === undefined) delete entry.was
    if (key === undefined) return entry
    const kind = (['env', 'file', 'keyring'] as const)[this.keys.size % 3] ?? 'env'
    const reference = { [kind]: `k${this.keys.size}` } as unknown as KeyReference
    if (key !== '') this.keys.set(JSON.stringify(reference), key)
    return { ...entry, key: key === '' ? null : reference }
  }
}

class Run {
  readonly #mock: MockService
  readonly #admin: Admin
  readonly #case: Case
  readonly #secrets = new Set<string>([TOKEN])
  readonly #before: readonly Stored[]

  constructor(mock: MockService, admin: Admin, given: Case) {
    this.#mock = mock
    this.#admin = admin
    this.#case = given
    this.#before = this.#all()
    for (const { signatureKey, hookUrl, config } of this.#before)
      this.#keep({ key: signatureKey, hookUrl, properties: config?.properties ?? {} })
  }

  #all(): Stored[] {
    return this.#mock.snapshot().webhooks as Stored[]
  }

  #keep({ key, hookUrl, properties }: WebhookChanges): void {
    const parts = [...(hookUrl?.matchAll(/(?:code=|sig=%2B)([^&]+)/g) ?? [])].map(([, value]) => value)
    for (const secret of [key, properties?.token, ...parts]) if (secret) this.#secrets.add(String(secret))
  }

  #print(value: unknown): void {
    const text = value instanceof Error ? printed(value) : inspect(value, { depth: 12 })
    expectNone(text + JSON.stringify(value), [...this.#secrets])
  }

  #setting(service: string): Setting {
    return settingOf(this.#case.like.product, service, this.#case.like.keys)
  }

  async #plan(file: WebhookFile, options: PlanOptions): Promise<Plan> {
    try {
      const plan = await planWebhooks(this.#admin, JSON.parse(JSON.stringify(file)), options)
      this.#print(plan)
      return plan
    } catch (error) {
      this.#print(error)
      throw error
    }
  }

  /** Pulls a file, fills in its variables from what is stored, and plans it. */
  async pull(): Promise<void> {
    const services = this.#case.services.map(({ service }) => service)
    const pulled = await pullWebhooks(this.#admin, { services })
    this.#print(pulled)
    const { file, variables } = JSON.parse(JSON.stringify(pulled)) as typeof pulled
    const values: Record<string, string> = {}
    for (const [service, entries] of Object.entries(file.services))
      for (const [index, entry] of entries.entries()) {
        const webhook = this.#of(service)[index] as Stored
        const { key } = entry
        if (key && 'env' in key) values[key.env] = webhook.signatureKey || 'hidden'
        readValues(entry.hookUrl ?? '', webhook.hookUrl, values)
        readValues(String(entry.properties?.token ?? ''), String(webhook.config?.properties?.token), values)
      }
    expect(variables.map(({ name }) => name).sort()).toEqual(Object.keys(values).sort())
    const readKey = (key: KeyReference): string => values['env' in key ? key.env : ''] ?? ''
    const plan = await this.#plan(file, { variables: values, readKey, deleteUnmanaged: true, services })
    expect(changesIn(plan)).toEqual([])
    expect(this.#all()).toEqual(this.#before)
  }

  /** The webhooks of a service, in the order of its list. */
  #of(service: string, all: readonly Stored[] = this.#all()): Stored[] {
    const name = (webhook: Stored): string =>
      webhook.serviceType === 'Portal'
        ? PORTAL
        : `${webhook.folderName && `${webhook.folderName}/`}${webhook.serviceName}.${webhook.serviceType}`
    return all.filter((webhook) => name(webhook) === service)
  }

  /** Decides what the file has. */
  write(files: Files, url: string): void {
    const host = new URL(url).host
    for (const { service, webhooks, added } of this.#case.services) {
      const stored = this.#of(service)
      const setting = this.#setting(service)
      const free: string[] = []
      for (const [index, { fate }] of webhooks.entries()) {
        const before = stored[index] as Stored
        const { kind, declared, changes, isRespelled, near } = fate
        const { name: newName = 'x', ...others } = changes
        if (kind === 'remove') continue
        const current = Object.entries({ ...valuesOf(before, setting), key: before.signatureKey })
        const kept = current.filter(([, value], at) => value !== undefined && declared & (1 << at))
        const given: Wanted['given'] = {
          ...(Object.fromEntries(kept) as WebhookChanges),
          ...(kind === 'keep' ? {} : others),
          name: before.name,
        }
        const { schedule } = valuesOf(before, setting)
        if (near && schedule) given.schedule = { ...schedule, ...near } as Schedule
        let was: string | undefined
        if (kind === 'rename' || kind === 'chain') {
          given.name = (kind === 'chain' ? free.pop() : undefined) ?? `r${index} ${newName}`
          was = before.name
          free.push(was)
        }
        // A service that shows its keys keeps the one that an edit leaves empty.
        const { keys, omitted } = this.#case.like
        if (service !== PORTAL && keys === 'shown' && omitted === 'keep' && given.key === '') delete given.key
        if (given.hookUrl !== undefined) given.hookUrl = given.hookUrl.replace('@', host)
        if (isRespelled && given.hookUrl === before.hookUrl)
          given.hookUrl = given.hookUrl.replace(/^http/i, (scheme) => (scheme === 'http' ? 'HTTP' : 'http'))
        files.wanted.push({ service, before, given, was })
      }
      for (const [index, { members, takesFreed }] of added.entries()) {
        const name = (takesFreed ? free.pop() : undefined) ?? `a${index} ${members.name}`
        const given = { ...members, name, hookUrl: members.hookUrl.replace('@', host) }
        files.wanted.push({ service, before: undefined, given, was: takesFreed ? undefined : 'no such name' })
      }
    }
    for (const { given } of files.wanted) this.#keep(given)
  }

  /** Plans and applies a file until it is applied, and compares what is stored with what the file means. */
  async apply(files: Files): Promise<void> {
    const { options, usesVariables, services, lost } = this.#case
    const names = services.map(({ service }) => service)
    const toFile = (): WebhookFile => ({
      site: this.#admin.url,
      services: Object.fromEntries(
        names.map((service) => [
          service,
          files.wanted
            .filter((wanted) => wanted.service === service)
            .map((w) => files.describe(w, usesVariables)),
        ]),
      ),
    })
    const { variables, readKey } = files
    const all = { ...options, services: names, variables, readKey }
    const lacking = files.wanted.filter((wanted) => this.#lacksKey(wanted))
    if (lacking.length > 0) {
      const error = await this.#plan(toFile(), all).catch((reason: unknown) => reason)
      expect(error).toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('needs the member key'),
      })
      expect(this.#all()).toEqual(this.#before)
      for (const { given, before } of lacking) given.key = before?.signatureKey ?? ''
    }
    const isEmptied = names.some((name) => files.wanted.every(({ service }) => service !== name))
    if (isEmptied && options.deleteUnmanaged) {
      const error = await this.#plan(toFile(), { ...all, services: undefined }).catch((reason) => reason)
      expect(error).toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('list is empty'),
      })
    }
    const file = toFile()
    const first = await this.#plan(file, all)
    expect(this.#all()).toEqual(this.#before)
    const notes = first.services.map((service) => service.notes).join()
    for (const { given, before } of files.wanted)
      if (
        before &&
        given.hookUrl &&
        given.hookUrl !== before.hookUrl &&
        isReached('hookUrl', given.hookUrl, before.hookUrl, 'service')
      )
        expect(notes).toContain(`${given.name}: hookUrl is `)
    for (const fault of this.#case.faults) this.#mock.faults.add(fault)
    if (lost > 0) this.#mock.faults.add({ fault: 'admin_answer_lost', times: lost })
    const applied: AppliedChange[] = []
    for (let plan = first, round = 0; round === 0 || changesIn(plan).length > 0; round++) {
      const done = await applyPlan(plan)
      this.#print(done)
      for (const { error } of done) if (error) this.#print(error)
      applied.push(...done)
      const failed = done.filter(({ state }) => state === 'failed')
      const reasons = failed.map(({ error }) => error as AdminError)
      expect(reasons.filter(({ code }) => lost === 0 || code !== 'admin_unknown')).toEqual([])
      expect(round, 'rounds').toBeLessThanOrEqual(lost)
      if (failed.length === 0) break
      plan = await this.#plan(file, all)
    }
    this.#mock.faults.clear()
    this.#check(files, first, applied)
    const after = this.#all()
    const next = await this.#plan(file, { ...all, sendKeys: false })
    expect(changesIn(next), 'the next plan').toEqual([])
    expect(this.#all()).toEqual(after)
  }

  /** The members of the file that differ visibly from those that are stored. */
  #differing({ service, before, given }: Wanted): Member[] {
    if (!before) return []
    const setting = this.#setting(service)
    const hidden = hiddenMembers(before, setting)
    const stored = valuesOf(before, setting)
    const names = Object.keys(given) as Member[]
    return names.filter(
      (name) => !hidden.includes(name) && !isReached(name, given[name], stored[name], setting.product),
    )
  }

  #isEdited(wanted: Wanted): boolean {
    const { before, given, service } = wanted
    const sendsKey =
      this.#case.options.sendKeys &&
      given.key !== undefined &&
      hiddenMembers(before as Stored, this.#setting(service)).includes('key')
    return sendsKey || this.#differing(wanted).length > 0
  }

  #lacksKey(wanted: Wanted): boolean {
    const { before, given, service } = wanted
    if (!before || given.key !== undefined) return false
    const differing = this.#differing(wanted).filter((name) => service !== PORTAL || name !== 'active')
    return differing.length > 0 && hiddenMembers(before, this.#setting(service)).includes('key')
  }

  #check(files: Files, first: Plan, applied: readonly AppliedChange[]): void {
    const after = this.#all()
    const { deleteUnmanaged } = this.#case.options
    const kept = new Set<string>()
    for (const wanted of files.wanted) {
      const { service, before, given } = wanted
      const found = this.#of(service, after).filter(({ name }) => name === given.name)
      expect(found.length, `webhooks named ${given.name}`).toBe(1)
      const [now] = found as [Stored]
      kept.add(now.id)
      if (before) this.#checkEdited(wanted, now, first, applied)
      else this.#checkCreated(wanted, now)
    }
    const isManaged = ({ id }: Stored): boolean => files.wanted.some(({ before }) => before?.id === id)
    const managed = new Set(this.#case.services.flatMap(({ service }) => this.#of(service, this.#before)))
    const unmanaged = this.#before.filter((webhook) => !isManaged(webhook))
    const left = unmanaged.filter((webhook) => !deleteUnmanaged || !managed.has(webhook))
    expect(after.filter(({ id }) => !kept.has(id))).toEqual(left)
    expect(new Set(first.services.flatMap((service) => service.unmanaged))).toEqual(
      new Set(left.filter((webhook) => managed.has(webhook)).map(({ name }) => name)),
    )
  }

  #checkCreated({ service, given }: Wanted, now: Stored): void {
    const setting = this.#setting(service)
    expect(this.#before.some(({ id }) => id === now.id)).toBe(false)
    const shown = valuesOf(now, setting)
    for (const name of Object.keys(given) as Member[])
      expect(
        isReached(name, given[name], shown[name], setting.product),
        `${name}: ${inspect([given[name], shown[name]])}`,
      ).toBe(true)
    const { active = true, key = '' } = given
    expect([now.active, now.signatureKey]).toEqual([active, key])
  }

  #checkEdited(wanted: Wanted, now: Stored, first: Plan, applied: readonly AppliedChange[]): void {
    const { service, before, given } = wanted as Wanted & { before: Stored }
    const setting = this.#setting(service)
    const { product } = setting
    expect(now.id).toBe(before.id)
    const hidden = hiddenMembers(before, setting).filter((name) => name in given)
    const isPartial = product === 'online' && given.schedule?.startAt !== undefined
    const notCompared = first.services
      .find((planned) => planned.service === service)
      ?.notCompared.find(({ name }) => name === given.name)
    expect([...(notCompared?.members ?? [])].sort()).toEqual(
      [...hidden, ...(isPartial ? (['schedule'] as const) : [])].sort(),
    )
    expect(this.#isEdited(wanted) || isDeepStrictEqual(now, before), 'a webhook without changes').toBe(true)
    if (!this.#isEdited(wanted)) return
    const result = applied.findLast(({ id, state }) => id === before.id && state === 'done')?.result
    const [old, shown] = [valuesOf(before, setting), valuesOf(now, setting)]
    const isKept = (name: Member): boolean => {
      if (name in given && name !== 'schedule') return isReached(name, given[name], shown[name], product)
      const all = wantedAfter(old, given.schedule ? { schedule: given.schedule } : {})
      return compare({ [name]: all[name] }, { [name]: shown[name] }, {}).different.length === 0
    }
    const different = (Object.keys(shown) as Member[]).filter((name) => !isKept(name))
    // Without a result, the response to the edit was lost.
    const unknown = result?.notCompared ?? hiddenMembers(now, setting)
    const isReset = (name: Member): boolean =>
      this.#case.like.omitted === 'reset' && !(name in given) && unknown.includes(name)
    expect(different.filter((name) => !isReset(name))).toEqual([])
    if (isPartial) expect(now.scheduleInfo.startAt).toBe(given.schedule?.startAt)
  }
}

const changesIn = (plan: Plan): unknown[] => plan.services.flatMap(({ changes }) => changes)

/** Reads the values of variables in a template. */
function readValues(template: string, text: string, values: Record<string, string>): void {
  const names: string[] = []
  const pattern = template.replace(/\$\$\{|\$\{(\w+)\}|[^\w]/g, (whole, name?: string) => {
    if (name) names.push(name)
    return name ? '(.*)' : whole === '$${' ? '\\$\\{' : `\\u{${whole.codePointAt(0)?.toString(16)}}`
  })
  const found = new RegExp(`^${pattern}$`, 'u').exec(text)
  for (const [index, name] of names.entries()) values[name] = found?.[index + 1] ?? ''
}

/** True if a service has a value of the file, or has it in its own form. */
function isReached(name: Member, wanted: unknown, stored: unknown, product: Product): boolean {
  if (name === 'hookUrl') return new URL(String(wanted)).href === new URL(String(stored)).href
  if (name === 'changeTypes') {
    const types = (value: unknown): string[] => [...(value as string[])].sort()
    return isDeepStrictEqual(types(wanted), types(stored))
  }
  if (name !== 'schedule') return isDeepStrictEqual(structuredClone(wanted), structuredClone(stored))
  const { recurrenceInfo, startAt, ...others } = wanted as Schedule
  const now = stored as Schedule
  const [least, seconds] = [secondsOf(wanted as Schedule), secondsOf(now)]
  const minima = product === 'online' ? [30, 60] : [60]
  const isInterval = !recurrenceInfo || least === seconds || (least < seconds && minima.includes(seconds))
  const isLater = Number(startAt) <= Number(now.startAt) && Number(startAt) <= Date.now()
  // ArcGIS Online shows a schedule without its start.
  const isHidden = now.startAt === undefined && now.recurrenceInfo !== undefined
  const isStart = startAt === undefined || startAt === now.startAt || isLater || isHidden
  const isOther = Object.entries(others).some(([member, value]) => now[member as keyof typeof now] !== value)
  return !isOther && isInterval && isStart
}

async function play(given: Case): Promise<void> {
  const { product } = given.like
  const started = await start(product, { webhooks: [], like: { ...given.like, window: undefined } })
  const { url, mock } = started
  const host = new URL(url).host
  const webhooks = given.services.flatMap(({ service, webhooks }) =>
    webhooks.map(({ members, hasSchedule }, index) => {
      const [, folderName = '', serviceName = '', serviceType = 'Portal'] = /^(?:(.+)\/)?(.+)\.(.+)$/.exec(
        service,
      ) ?? [undefined, '', 'P1']
      const { changeTypes, schedule, deactivation: deactivationPolicy, properties, key, ...others } = members
      return stored(service === PORTAL ? 'portal' : product, {
        ...(others as Partial<Stored>),
        ...({ folderName, serviceName, serviceType } as Partial<Stored>),
        id: `${serviceName}-${index}`,
        name: `${index} ${members.name}`,
        changeTypes: [...changeTypes],
        signatureKey: key,
        hookUrl: members.hookUrl.replace('@', host),
        scheduleInfo: (hasSchedule && schedule ? schedule : {}) as Stored['scheduleInfo'],
        ...(service === PORTAL ? { config: { deactivationPolicy, properties } } : {}),
      })
    }),
  )
  const bystander = stored('service', { id: 'b0', serviceName: 'Other', name: 'of another service' })
  const services = given.services.map(({ service }) => {
    const [, folderName = '', serviceName = '', serviceType = ''] =
      /^(?:(.+)\/)?(.+)\.(.+)$/.exec(service) ?? []
    return { folderName, serviceName, serviceType: serviceType as Stored['serviceType'] }
  })
  mock.restore({
    services: services.filter(({ serviceName }) => serviceName),
    webhooks: [...webhooks, bystander],
  })
  const portal = product === 'portal' ? {} : { portal: url }
  const timeout = given.lost > 0 ? 1000 : 5000
  const run = new Run(mock, createAdmin({ url, product, token: TOKEN, timeout, ...portal }), given)
  await run.pull()
  const files = new Files()
  run.write(files, url)
  await run.apply(files)
  await started.close()
}

it(`random files, seed ${seed}`, async () => {
  await fc.assert(fc.asyncProperty(cases, play), { seed, numRuns })
})

describe('an apply that is killed', () => {
  const THREE = ['Parcels.FeatureServer', 'Buffer.GPServer', PORTAL]
  const readKey = (reference: KeyReference): string => `key of ${Object.values(reference)}`

  /** Ten changes for each of three services: two renames in a chain, three edits, two creations and three deletions. */
  function toFile(site: string): WebhookFile {
    const hookUrl = `${site}/hook/new`
    const services = THREE.map((service): [string, DeclaredWebhook[]] => {
      const changeTypes = service === PORTAL ? ['/items'] : ['*']
      const entries: DeclaredWebhook[] = [
        { name: 'b', was: 'a', changeTypes },
        { name: 'c', was: 'b', hookUrl },
        { name: 'd', active: false, hookUrl },
        { name: 'e', active: false },
        { name: 'f', hookUrl },
        { name: 'new', hookUrl, changeTypes },
        { name: 'a', hookUrl, active: false },
      ]
      return [service, entries.map((entry) => ({ ...entry, key: { env: entry.was ?? entry.name } }))]
    })
    return { site, services: Object.fromEntries(services) }
  }

  function toWebhooks(url: string): Stored[] {
    return THREE.flatMap((service) => {
      const [serviceName = '', serviceType = ''] = service === PORTAL ? ['P1', 'Portal'] : service.split('.')
      const place = { serviceName, serviceType, folderName: '' } as Partial<Stored>
      const webhook = stored(service === PORTAL ? 'portal' : 'enterprise', place)
      return [...'abcdefxyz']
        .filter((name) => name !== 'c')
        .map((name) => ({
          ...webhook,
          ...(serviceType === 'GPServer' && { changeTypes: ['*'], scheduleInfo: {} }),
          id: `${serviceName}-${name}`,
          name,
          signatureKey: readKey({ env: name }),
          hookUrl: `${url}/hook/old`,
        }))
    })
  }

  const OPTIONS = { readKey, deleteUnmanaged: true }

  /** What is stored, without what each run decides anew. */
  const shown = (mock: MockService): unknown[] =>
    (mock.snapshot().webhooks as Stored[])
      .map(({ id, modified: _, created: __, modifiedId: ___, ownerId: ____, ...webhook }) => ({
        ...webhook,
        id: id.includes('-') && id.length < 20 ? id : 'new',
      }))
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))

  /** @returns also the ids of webhooks that once had no key */
  async function startFull(
    options: StartOptions = {},
  ): Promise<Started & { connect(fetch?: Fetch): Admin; lacking: Set<string> }> {
    const started = await start('enterprise', {
      webhooks: [],
      like: { keys: 'hidden', omitted: 'reset' },
      ...options,
    })
    const { mock, url } = started
    mock.restore({ webhooks: toWebhooks(url) })
    const lacking = new Set<string>()
    mock.on(() => {
      for (const { id, signatureKey } of mock.snapshot().webhooks) if (signatureKey === '') lacking.add(id)
    })
    const connect = (fetch?: Fetch): Admin =>
      createAdmin({ url, portal: url, product: 'enterprise', timeout: 10_000, ...(fetch && { fetch }) })
    return { ...started, connect, lacking }
  }

  async function finish(admin: Admin, file: WebhookFile): Promise<void> {
    const applied = await applyPlan(await planWebhooks(admin, file, OPTIONS))
    expect(applied.filter(({ state }) => state !== 'done')).toEqual([])
    expect(changesIn(await planWebhooks(admin, file, OPTIONS))).toEqual([])
  }

  it('is completed by the next apply, whichever request it stopped at', async () => {
    const { mock, url, connect, lacking } = await startFull()
    const file = toFile(url)
    const before = mock.snapshot()

    /** Applies the file until a request, which may have been answered; no later one settles. */
    async function applyUntil(last: number, isAnswered: boolean): Promise<number> {
      let requests = 0
      let isDead = false
      let die = (): void => {}
      const death = new Promise<void>((resolve) => {
        die = resolve
      })
      const never = new Promise<never>(() => {})
      let isApplying = false
      const admin = connect(async (to, init) => {
        if (isDead) return never
        if (!isApplying || ++requests <= last) return fetch(to, init)
        isDead = true
        if (isAnswered) await (await fetch(to, init)).text()
        die()
        return never
      })
      const plan = await planWebhooks(admin, file, OPTIONS)
      expect(changesIn(plan)).toHaveLength(30)
      isApplying = true
      const applied = applyPlan(plan, {
        onChange() {
          if (isDead) throw new Error('dead')
        },
      })
      await Promise.race([applied.catch(() => never), death])
      return requests
    }

    const all = await applyUntil(Number.POSITIVE_INFINITY, true)
    const wanted = shown(mock)
    expect(wanted).toHaveLength(21)
    expect(all).toBeGreaterThan(60)
    for (let last = 0; last < all; last++)
      for (const isAnswered of [false, true]) {
        mock.restore(before)
        await applyUntil(last, isAnswered)
        await finish(connect(), file)
        expect(shown(mock), `stopped ${isAnswered ? 'after' : 'before'} request ${last}`).toEqual(wanted)
      }
    expect([...lacking]).toEqual([])
  })

  it('is completed by the next apply after SIGKILL', async () => {
    let requests = 0
    let onRequest = (_res: ServerResponse): boolean => false
    const { mock, url, connect, lacking } = await startFull({ before: (_req, res) => onRequest(res) })
    const file = toFile(url)
    const before = mock.snapshot()
    const script = `
      import { applyPlan, createAdmin, planWebhooks } from 'geohook/admin'
      const [url, file] = process.argv.slice(1)
      const admin = createAdmin({ url, portal: url, product: 'enterprise' })
      const readKey = (reference) => 'key of ' + Object.values(reference)
      await applyPlan(await planWebhooks(admin, JSON.parse(file), { readKey, deleteUnmanaged: true }))`
    /** @returns whether the process was killed */
    async function applyUntil(last: number): Promise<boolean> {
      requests = 0
      const args = ['--input-type=module', '-e', script, url, JSON.stringify(file)]
      const child = spawn(process.execPath, args, { stdio: 'inherit' })
      onRequest = (res) => {
        if (++requests === last) res.once('finish', () => child.kill('SIGKILL'))
        if (requests === last && last % 2 === 0) child.kill('SIGKILL')
        return false
      }
      const [code, signal] = await once(child, 'exit')
      onRequest = () => false
      if (signal === null) expect(code).toBe(0)
      return signal === 'SIGKILL'
    }
    expect(await applyUntil(Number.POSITIVE_INFINITY)).toBe(false)
    const [all, wanted] = [requests, shown(mock)]
    for (let last = 20; last < all; last += 9) {
      mock.restore(before)
      expect(await applyUntil(last)).toBe(true)
      await finish(connect(), file)
      expect(shown(mock), `killed at request ${last}`).toEqual(wanted)
    }
    expect([...lacking]).toEqual([])
  })
})
