import { randomBytes } from 'node:crypto'
import type { AdminError, Webhook, Webhooks } from '../../admin/index.ts'
import { count } from '../../shared/words.ts'
import { failure, usageError } from '../errors.ts'
import { printable } from '../terminal/io.ts'
import { sumUp } from './receivers.ts'
import { type Journal, type Ring, type RingKey, STATES, type State } from './ring-file.ts'
import { type RotationContext, requireHandshake, wayOf, withId } from './rotation-check.ts'
import { webhooksOf } from './webhooks.ts'

/** Maximum number of edits of a webhook, if the responses are lost. */
const MAX_EDITS = 3
/** What a rotation waits for, and the time if it is known. */
export interface Waiting {
  what: string
  until?: Date
}

/** One rotation: of a keyring, and of the webhooks that use it. */
export class Rotation {
  readonly ring: Ring
  readonly journal: Journal
  /** Why a state failed. */
  error: unknown
  waiting: Waiting | undefined
  /** True if the last state of the run is over. */
  isDone = false
  readonly #context: RotationContext

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

  /** Turns round: the key that the rotation would remove stays. @throws {CliError} exit code 1 if it is gone */
  async turn(): Promise<void> {
    const { journal } = this
    const { state, from, to } = journal
    if (!this.#keyOf(from))
      throw failure(
        'rotation_over',
        `the key ${from} has been removed, so the rotation cannot go back`,
        'End it with --continue. Then you can rotate again.',
      )
    const kept = { isBack: !journal.isBack, matchedAt: undefined, compromised: undefined }
    Object.assign(journal, { from: to, to: from, ...kept })
    // No webhook has the new key before an edit begins.
    await this.enter(state === 'add' || state === 'settle' ? 'remove' : 'switch')
  }

  /** Runs the states up to `last`, until one of them has to wait or fails. */
  async run(last: State): Promise<void> {
    const { signal, compromised } = this.#context
    const { journal, ring } = this
    if (compromised) journal.compromised = true
    this.waiting = undefined
    try {
      while (!signal.aborted) {
        const { state, to } = journal
        this.isDone = STATES.indexOf(state) > STATES.indexOf(last)
        if (this.isDone) return
        if (state !== 'add' && !this.#keyOf(to))
          throw failure('rotation_failed', `${ring.name} no longer contains the key ${to}`, 'Put it back.')
        this.waiting = await this.#steps[state]()
        if (this.waiting) return
        const next = STATES[STATES.indexOf(state) + 1]
        if (next) {
          await this.enter(next)
          continue
        }
        await ring.finish()
        this.isDone = true
        return
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

  /** Asks the receivers. @returns what to wait for, unless as many as expected have responded as `isReady` says */
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

  /** What each state does. Each can be repeated. A step returns what it waits for. */
  readonly #steps: Readonly<Record<State, () => Promise<Waiting | undefined>>> = {
    add: async () => {
      const { ring, journal } = this
      if (this.#keyOf(journal.to)) return undefined
      const added = { id: journal.to, key: randomBytes(32).toString('hex') }
      await ring.write(ring.keys.toSpliced(1, 0, added))
      this.#report(`added the key ${added.id}, as the second one`)
      return undefined
    },

    settle: async () => {
      const { receivers, settle } = this.#context
      const { since, to, compromised } = this.journal
      if (receivers)
        return this.#askReceivers(`receivers that have the key ${to}`, (matched) =>
          Object.hasOwn(matched, to),
        )
      return compromised ? undefined : this.#until(since, settle, 'the receivers to read the keyring')
    },

    switch: async () => {
      const { journal } = this
      const { admin } = this.#context
      const { key } = this.#keyOf(journal.to) as RingKey
      const edits: (() => Promise<unknown>)[] = []
      let hasGap = false
      for (const { service, id, name } of journal.webhooks) {
        const webhooks = webhooksOf(admin, service)
        const webhook = await findById(webhooks, id)
        if (!webhook) {
          this.#report(`${service}, ${name} no longer exists`)
          continue
        }
        const way = wayOf(webhook, journal)
        hasGap ||= way === 'gap'
        const hookUrl = way === 'url' ? withId(webhook.hookUrl, journal.to) : webhook.hookUrl
        if (webhook.key === key && webhook.hookUrl === hookUrl) continue
        if (way === 'url') await requireHandshake(this.#context, `${service}, ${name}`, hookUrl, key)
        edits.push(async () => {
          await editSafely(() => webhooks.edit(id, { key, ...(way === 'url' && hookUrl && { hookUrl }) }))
          this.#report(`${service}, ${name} has the key ${journal.to}`)
        })
      }
      await this.#askReceivers('')
      journal.before = sumUp(journal).matched[journal.to] ?? 0
      // The first key answers handshakes, and is that of webhooks as code.
      if (hasGap) await this.#promote()
      for (const edit of edits) await edit()
      await this.#promote()
      journal.switchedAt = new Date().toISOString()
      return undefined
    },

    prove: async () => {
      const { admin } = this.#context
      const { to, webhooks, before = 0, compromised } = this.journal
      if (compromised) return undefined
      const key = this.#keyOf(to)?.key
      let isHidden = false
      for (const { service, id, name } of webhooks) {
        const webhook = await findById(webhooksOf(admin, service), id)
        const problem =
          webhook?.active === false
            ? 'is no longer active'
            : webhook?.key !== undefined && webhook.key !== key
              ? 'no longer has the new key'
              : undefined
        if (problem) throw failure('rotation_failed', `${service}, ${name} ${problem}`, BOTH)
        isHidden ||= webhook !== undefined && webhook.key === undefined
      }
      if (!isHidden) return undefined
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
      const absent = await this.#askReceivers('receivers that respond')
      const { matchedAt = '' } = journal
      const quiet = matchedAt > switchedAt ? matchedAt : switchedAt
      return absent ?? this.#until(quiet, drain, `retries that the key ${from} has signed`)
    },

    remove: async () => {
      const { ring, journal } = this
      const { from } = journal
      await this.#askReceivers('')
      if (this.#keyOf(from)) {
        await ring.write(ring.keys.filter(({ id }) => id !== from))
        this.#report(`removed the key ${from}`)
      }
      const { matched, refused } = sumUp(journal)
      const verified = Object.entries(matched).map(
        ([id, number]) => `${count(number, 'delivery', 'deliveries')} with ${id}`,
      )
      if (this.#context.receivers)
        this.#report(
          `meanwhile, the receivers verified ${verified.join(' and ')}, and refused ${count(refused, 'request')}`,
        )
      return undefined
    },
  }

  async #promote(): Promise<void> {
    const { ring, journal } = this
    const key = this.#keyOf(journal.to)
    if (key && ring.keys[0] !== key) await ring.write([key, ...ring.keys.filter((other) => other !== key)])
  }
}

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
