import { randomBytes } from 'node:crypto'
import type { AdminError, Webhook, Webhooks } from '../../admin/index.ts'
import { count } from '../../shared/words.ts'
import { failure, usageError } from '../errors.ts'
import { printable } from '../terminal/io.ts'
import { sumUp } from './receivers.ts'
import { type Journal, type Ring, type RingKey, STATES, type State } from './ring-file.ts'
import { findOther, type RotationContext, requireHandshake, wayOf, withId } from './rotation-check.ts'
import { webhooksOf } from './webhooks.ts'

/** Maximum number of edits of a webhook, if the responses are lost. */
const MAX_EDITS = 3
/** What a rotation waits for, and the time if it is known. */
export interface Waiting {
  what: string
  until?: Date
}

/** Rotates the key of one keyring, and of the webhooks that use it. */
export class Rotation {
  readonly ring: Ring
  readonly journal: Journal
  /** Why a state failed. */
  error: unknown
  waiting: Waiting | undefined
  /** True if the last state of the run is over. */
  isDone = false
  readonly #context: RotationContext
  readonly #deleted = new Set<object>()

  constructor(context: RotationContext, ring: Ring, journal: Journal) {
    this.#context = context
    this.ring = ring
    this.journal = journal
  }

  /** Enters a state: the journal says so first. */
  async enter(state: State): Promise<void> {
    Object.assign(this.journal, { state, since: new Date().toISOString() })
    await this.ring.save(this.journal)
  }

  /** Goes back: keeps the old key, and removes the new one. Sets `error` if the old key is gone. */
  async goBack(): Promise<void> {
    const { journal } = this
    const { state, from, to, isBack } = journal
    if (isBack) return
    if (!this.#keyOf(from)) {
      this.error = failure(
        'rotation_over',
        `${this.ring.name}: the key ${from} has been removed, so the rotation cannot go back`,
        'End it with --continue. Then you can rotate again.',
      )
      return
    }
    const others = { isBack: true, matchedAt: undefined, compromised: undefined, isStepwise: undefined }
    Object.assign(journal, { from: to, to: from, ...others })
    // No webhook has the new key before an edit begins.
    await this.enter(state === 'add' || state === 'settle' ? 'remove' : 'switch')
  }

  /** Runs the states up to `last`, until one of them has to wait or fails. */
  async run(last: State): Promise<void> {
    const { signal, compromised, acceptHandshakeGap } = this.#context
    const { journal, ring } = this
    if (compromised) journal.compromised = true
    if (acceptHandshakeGap) journal.acceptsGap = true
    this.waiting = undefined
    try {
      while (!signal.aborted) {
        const { state, to } = journal
        this.isDone = STATES.indexOf(state) > STATES.indexOf(last)
        if (this.isDone) return
        if (state !== 'add' && !this.#keyOf(to))
          throw failure(
            'rotation_failed',
            `${ring.name} no longer contains the key ${to}`,
            'Restore the file, or go back with --back.',
          )
        this.waiting = await this.#states[state]()
        if (this.waiting) return
        const next = STATES[STATES.indexOf(state) + 1]
        this.isDone = STATES.indexOf(state) >= STATES.indexOf(last)
        if (!next) await ring.finish()
        if (!next || this.isDone) return
        await this.enter(next)
      }
    } catch (error) {
      this.error = error
    }
  }

  #keyOf(wanted: string): RingKey | undefined {
    return this.ring.keys.find(({ id }) => id === wanted)
  }

  #report(text: string): void {
    const { io } = this.#context
    if (!io.json) io.print(printable(`${this.ring.name}: ${text}`))
  }

  #until(since: string, duration: number, what: string): Waiting | undefined {
    const until = new Date(Date.parse(since) + this.#context.io.wait(duration))
    return until.getTime() > Date.now() ? { what, until } : undefined
  }

  /** Records the counts of the receivers. Returns what to wait for unless all of them are ready. */
  async #askReceivers(
    what: string,
    isReady = (_: Readonly<Record<string, number>>) => true,
  ): Promise<Waiting | undefined> {
    const { receivers } = this.#context
    if (!receivers) return undefined
    const seen = await receivers.look(this.ring.keys, this.journal)
    const ready = seen.filter(({ matched }) => isReady(matched)).length
    if (ready >= receivers.number && ready === seen.length) return undefined
    return { what: `${what}: ${ready} of ${count(receivers.number, 'receiver')}` }
  }

  /** What each state does, and what it waits for. Each can be repeated. */
  readonly #states: Readonly<Record<State, () => Promise<Waiting | undefined>>> = {
    add: async () => {
      const { ring, journal } = this
      if (this.#keyOf(journal.to)) return undefined
      const added = { id: journal.to, key: randomBytes(32).toString('hex') }
      await ring.write(ring.keys.toSpliced(1, 0, added))
      this.#report(`added the key ${added.id} in second place`)
      return undefined
    },

    settle: async () => {
      const { receivers, settle } = this.#context
      const { since, to, compromised, settle: first } = this.journal
      if (receivers)
        return this.#askReceivers(`all receivers to have the key ${to}`, (matched) =>
          Object.hasOwn(matched, to),
        )
      return compromised
        ? undefined
        : this.#until(since, settle ?? first, 'the receivers to read the keyring')
    },

    switch: async () => {
      const { journal, ring } = this
      const { admin } = this.#context
      const { compromised, acceptsGap, isBack } = journal
      const { key } = this.#keyOf(journal.to) as RingKey
      const edits: (() => Promise<unknown>)[] = []
      let hasGap = false
      const found = await this.#read()
      for (const named of journal.webhooks) {
        if (found.some(([one]) => one === named)) delete named.isDeleted
        else named.isDeleted = true
      }
      for (const [{ service, id, name }, webhook] of found) {
        const webhooks = webhooksOf(admin, service)
        const way = wayOf(webhook, journal)
        hasGap ||= way === 'gap'
        const hookUrl = way === 'url' ? withId(webhook.hookUrl, journal.to) : webhook.hookUrl
        if (webhook.key === key && webhook.hookUrl === hookUrl) continue
        if (way === 'url') await requireHandshake(this.#handshakes, `${service}, ${name}`, hookUrl, key)
        edits.push(async () => {
          await editSafely(() => webhooks.edit(id, { key, ...(way === 'url' && hookUrl && { hookUrl }) }))
          this.#report(`${service}, ${name} now has the key ${journal.to}`)
        })
      }
      if (hasGap && !acceptsGap && !compromised && !isBack)
        throw failure('rotation_refused', 'a payload URL no longer ends with the id of its key', BOTH)
      await this.#askReceivers('')
      journal.before = sumUp(journal).matched[journal.to] ?? 0
      await ring.write() // fails if the file was changed, before a webhook gets the key
      // Receivers answer handshakes with the first key, and a file of webhooks sends it.
      if (hasGap) await this.#promote()
      for (const edit of edits) await edit()
      await this.#promote()
      journal.switchedAt = new Date().toISOString()
      return undefined
    },

    prove: async () => {
      const { to, before = 0, compromised } = this.journal
      const isHidden = await this.#requireSwitched()
      if (!isHidden || compromised) return undefined
      if (!this.#context.receivers)
        throw usageError(
          'the service does not show the new key, so only a receiver can prove it',
          'Give --health.',
        )
      await this.#askReceivers('')
      const { matched } = sumUp(this.journal)
      return Number(matched[to]) > before ? undefined : { what: `a delivery that the key ${to} verifies` }
    },

    drain: async () => {
      const { journal } = this
      const { from, switchedAt = journal.since, drain, compromised } = journal
      if (compromised) return undefined
      const absent = await this.#askReceivers('all receivers to respond')
      const { matchedAt = '' } = journal
      const quiet = matchedAt > switchedAt ? matchedAt : switchedAt
      return absent ?? this.#until(quiet, drain, `the end of retries that the key ${from} signed`)
    },

    remove: async () => {
      const { ring, journal } = this
      const { from, to } = journal
      await this.#askReceivers('')
      const old = this.#keyOf(from)
      if (old) {
        // Other clients may have edited webhooks meanwhile.
        await this.#requireSwitched()
        for (const service of new Set((await this.#read()).map(([one]) => one.service))) {
          const other = await findOther(this.#context.admin, service, [], old)
          if (other)
            throw failure(
              'rotation_failed',
              `${service}, ${other.name} has the key ${from}`,
              `Give it the key ${to}.`,
            )
        }
        await ring.write(ring.keys.filter(({ id }) => id !== from))
        this.#report(`removed the key ${from}`)
      }
      const { matched, refused } = sumUp(journal)
      const verified = Object.entries(matched).map(
        ([id, number]) => `${count(number, 'delivery', 'deliveries')} with ${id}`,
      )
      if (this.#context.receivers)
        this.#report(
          `during the rotation, the receivers verified ${verified.join(' and ')}, and refused ${count(refused, 'request')}`,
        )
      return undefined
    },
  }

  get #handshakes(): RotationContext {
    const { acceptsGap = false, compromised = false } = this.journal
    return { ...this.#context, acceptHandshakeGap: acceptsGap, compromised }
  }

  /** Reads the webhooks, without those that were deleted. @throws {CliError} exit code 1 if none is left */
  async #read(): Promise<[Journal['webhooks'][number], Webhook][]> {
    const found: [Journal['webhooks'][number], Webhook][] = []
    for (const named of this.journal.webhooks) {
      const { service, id, name } = named
      const webhook = await findById(webhooksOf(this.#context.admin, service), id)
      if (webhook) found.push([named, webhook])
      else if (!this.#deleted.has(named)) this.#report(`${service}, ${name} no longer exists`)
      if (!webhook) this.#deleted.add(named)
    }
    if (found.length > 0) return found
    throw failure(
      'rotation_failed',
      'the service shows none of the webhooks',
      'If they were deleted, delete the journal, and remove the new key from the file.',
    )
  }

  /**
   * Requires that the webhooks are active and have the new key.
   *
   * @returns true if the service hides a key
   * @throws {CliError} exit code 1
   */
  async #requireSwitched(): Promise<boolean> {
    const { isBack, to } = this.journal
    const key = this.#keyOf(to)?.key
    let isHidden = false
    for (const [{ service, name, isDeleted }, webhook] of await this.#read()) {
      const who = `${service}, ${name}`
      // After a rotation went back, they are as they were.
      if (webhook.active === false && !isBack)
        throw failure('rotation_failed', `${who} is no longer active`, BOTH)
      if (isDeleted || (webhook.key !== undefined && webhook.key !== key)) {
        await this.enter('switch')
        throw failure('rotation_failed', `${who} does not have the key ${to}`, AGAIN)
      }
      isHidden ||= webhook.key === undefined
      if (key !== undefined && wayOf(webhook, this.journal) === 'url')
        await requireHandshake(this.#handshakes, who, webhook.hookUrl, key)
    }
    return isHidden
  }

  async #promote(): Promise<void> {
    const { ring, journal } = this
    const key = this.#keyOf(journal.to)
    if (key && ring.keys[0] !== key) await ring.write([key, ...ring.keys.filter((other) => other !== key)])
  }
}

const AGAIN = 'The old key is still accepted. --continue gives it the new key again, and --back the old one.'
const BOTH = 'Both keys are still accepted. Look at the webhook, then use --continue or --back.'

/** Returns undefined for a webhook that was deleted meanwhile. */
async function findById(webhooks: Webhooks, id: string): Promise<Webhook | undefined> {
  try {
    return await webhooks.get(id)
  } catch (error) {
    if ((error as AdminError).code === 'admin_not_found') return undefined
    throw error
  }
}

/** Sends the same edit again if the response was lost, and the service does not show the key. */
async function editSafely(edit: () => Promise<unknown>): Promise<void> {
  for (let number = 1; ; number++) {
    try {
      await edit()
      return
    } catch (error) {
      if ((error as AdminError).code !== 'admin_unknown' || number === MAX_EDITS) throw error
    }
  }
}
