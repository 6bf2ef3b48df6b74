import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Command } from 'commander'
import type {
  Admin,
  AppliedChange,
  KeyReference,
  Plan,
  PlannedChange,
  WebhookFile,
} from '../../admin/index.ts'
import { keyringPort } from '../../receiver/port.ts'
import { count } from '../../shared/words.ts'
import { EXIT, failure, usageError } from '../errors.ts'
import { readJson, reasonOf } from '../io/files.ts'
import { CliCommand, requireOthers } from '../options/command.ts'
import { toText as toValid } from '../options/secrets.ts'
import { listOf, wholeNumber } from '../options/values.ts'
import { type Io, printable, toPrintableJson } from '../terminal/io.ts'
import { type AdminCliOptions, addAdminOptions, toAdminError, withAdmin } from './connect.ts'
import { confirm, place, toText } from './webhooks.ts'

export function createPullCommand(io: Io): Command {
  return new CliCommand('pull')
    .summary('describe the webhooks of services as a file')
    .description(
      'Prints a file for "geohook plan" and "geohook apply" that describes the webhooks as they are. In place ' +
        'of keys and of the secret parts of payload URLs, it has variables, which standard error lists.',
    )
    .argument('[services...]', 'for example Parcels.FeatureServer, or portal (default: all)', listOf(place))
    .with(addAdminOptions)
    .examples(
      'geohook pull',
      'geohook pull Parcels.FeatureServer portal --portal https://gis.example.com/portal',
    )
    .action(async (services: string[], options: AdminCliOptions) => {
      const { pullWebhooks } = await import('../../admin/index.ts')
      const { file, variables } = await withAdmin(io, options, (admin) => pullWebhooks(admin, { services }))
      const described = { $schema: './node_modules/geohook/webhooks.schema.json', ...file }
      let isCut = false
      // A variable is not a secret, although it is where a secret was.
      const hide = (text: string): string => {
        const shown = /(?<!\$)\$\{/.test(text) ? text : io.hide(text)
        isCut ||= shown !== text
        return shown
      }
      const printed = io.json ? { file: described, variables } : described
      io.host.stdout.write(`${toPrintableJson(printed, hide, 2)}\n`)
      if (io.json) return
      if (isCut) io.note('*** is in place of text that looks like a secret: replace it before you plan')
      if (variables.length > 0) io.note('set these environment variables before you plan:')
      const width = Math.max(...variables.map(({ name }) => name.length))
      for (const { name, member, webhook, service } of variables)
        io.note(`  ${name.padEnd(width)}  ${member.padEnd(10)}  ${printable(`${service}, ${webhook}`)}`)
    })
}

interface PlanOptions extends AdminCliOptions {
  deleteUnmanaged?: true
  deleteFirst?: true
  sendKeys?: true
  limit?: number
  yes?: true
  plan?: string
  audit?: string
}

function addPlanOptions(command: CliCommand): void {
  command
    .argument('<file>', 'file that describes the webhooks, as "geohook pull" prints it')
    .argument('[services...]', 'services of the file, for example portal (default: all)', listOf(place))
    .option('--delete-unmanaged', 'delete the webhooks that the file does not name')
    .option('--delete-first', 'with --delete-unmanaged: delete before webhooks are created')
    .option('--send-keys', 'also send each key that the service does not show')
    .option('--limit <n>', 'maximum number of webhooks of a service (Online: 10)', wholeNumber(1, 1_000))
    .with(addAdminOptions)
}

/** Reads a file. Returns a function that plans the changes. @throws {CliError} exit code 2 */
async function readPlanner(io: Io, path: string, services: string[], options: PlanOptions) {
  requireOthers(options, [['deleteFirst', 'deleteUnmanaged']])
  const file = (await readJson(io, path)) as WebhookFile
  const { deleteUnmanaged, deleteFirst, sendKeys, limit } = options
  const { planWebhooks } = await import('../../admin/index.ts')
  const folder = path === '-' ? '.' : dirname(path)
  const sources = { variables: io.host.env, readKey: readKey.bind(undefined, io, folder) }
  const more = { ...sources, ...(services.length > 0 && { services }) }
  return (admin: Admin) =>
    planWebhooks(admin, file, { ...more, deleteUnmanaged, deleteFirst, sendKeys, limit })
}

/** Reads the key of a reference, and hides it in all later output. @throws {CliError} exit code 2 */
async function readKey(io: Io, folder: string, reference: KeyReference, place: string): Promise<string> {
  const toKey = (from: string, bytes: Buffer): string => {
    io.keepSecret(bytes)
    io.keepSecret(bytes.toString().trim())
    return toValid({ from, bytes }, 'key')
  }
  // References are not quoted, because one may be a key in the wrong place.
  if ('env' in reference) {
    const text = io.host.env[reference.env]
    if (typeof text === 'string') return toKey(`the environment variable of ${place}`, Buffer.from(text))
    throw usageError(
      `${place}: the environment variable of its key is not set`,
      'Set it. Shell variables must be exported.',
      'key_missing',
    )
  }
  const path = resolve(folder, 'file' in reference ? reference.file : reference.keyring)
  if ('keyring' in reference) {
    const { keyring } = await import('../../adapters/node.ts')
    try {
      const keys = keyringPort(keyring(path))?.keys() ?? []
      for (const key of keys) io.keepSecret(key)
      return String(keys[0])
    } catch (error) {
      const problem = (error as Error).message.replace(path, 'its keyring')
      throw usageError(`${place}: ${problem}`, '', 'key_invalid')
    }
  }
  const bytes = await io.readBytes(path).catch((error: unknown) => {
    throw usageError(`${place}: the file of its key cannot be read: ${reasonOf(error)}`, '', 'key_missing')
  })
  if (/^\s*[{[]/.test(bytes.toString()))
    throw usageError(
      `${place}: the file of its key contains JSON`,
      'Write {"keyring": …} for a keyring.',
      'key_invalid',
    )
  const text = bytes.toString('latin1').replace(/\r?\n$/, '')
  return toKey(`the file of ${place}`, Buffer.from(text, 'latin1'))
}

const changesOf = (plan: Plan): PlannedChange[] => plan.services.flatMap(({ changes }) => changes)

export function createPlanCommand(io: Io): Command {
  return new CliCommand('plan')
    .summary('print what differs between a file and services')
    .description(
      'Prints the changes that would make webhooks equal to a file, and makes none of them. The exit code is 4 if there are changes.',
    )
    .with(addPlanOptions)
    .examples('geohook plan webhooks.json', 'geohook plan webhooks.json portal --delete-unmanaged')
    .action(async (path: string, services: string[], options: PlanOptions) => {
      const plan = await withAdmin(io, options, await readPlanner(io, path, services, options))
      io.exitCode = changesOf(plan).length > 0 ? EXIT.changes : EXIT.success
      io.printResult(plan, () => printPlan(io, plan))
    })
}

const COLOURS = { create: 'green', edit: 'yellow', delete: 'red' } as const

function printPlan(io: Io, plan: Plan): void {
  const printLine = (head: string, text: string): void => io.print(`  ${head.padEnd(13)} ${printable(text)}`)
  for (const { service, changes, unmanaged, notCompared, notes } of plan.services) {
    io.print(io.colours.bold(printable(service)))
    if (changes.length === 0) io.print('  no changes')
    for (const { action, name, id, members } of changes) {
      const verb = io.colours[COLOURS[action]](action)
      io.print(`  ${verb} ${printable(id === undefined ? name : `${name} (${id})`)}`)
      for (const { member, requested, stored } of members) {
        const isSecret = requested === stored ? ' (only a secret part differs)' : ''
        const before = action === 'create' || isSecret ? '' : `${toText(stored)} → `
        io.print(`    ${member.padEnd(13)} ${before}${toText(requested)}${isSecret}`)
      }
    }
    for (const name of unmanaged) printLine('not managed', name)
    for (const { name, members } of notCompared) printLine('not compared', `${name}: ${members.join(', ')}`)
    for (const note of notes) printLine('note', note)
  }
  const actions = changesOf(plan).map(({ action }) => action)
  printCounts(io, actions, Object.keys(COLOURS), 'to ')
}

/** Prints a line such as `2 changes: 1 done, 1 failed, 0 not begun`. */
function printCounts(io: Io, found: readonly string[], words: readonly string[], before = ''): void {
  const numbers = words.map((word) => `${found.filter((one) => one === word).length} ${before}${word}`)
  io.print(`${count(found.length, 'change')}: ${numbers.join(', ')}`)
}

export function createApplyCommand(io: Io): Command {
  return new CliCommand('apply')
    .summary('make the webhooks of services equal to a file')
    .description(
      'Plans like "geohook plan", asks, and makes the changes, one after another. If one fails, the other ' +
        'changes of its service are not begun. Ctrl-C stops after the change in flight. Run it again for the rest.',
    )
    .with(addPlanOptions)
    .option('--yes', 'do not ask; required outside a terminal and with --json, if there are changes')
    .option('--plan <file>', 'output of "geohook plan --json": change nothing if the plan is different now')
    .option('--audit <file>', 'append a line of JSON to this file before and after each change')
    .examples('geohook apply webhooks.json', 'geohook apply webhooks.json --yes --plan plan.json')
    .action(async (path: string, services: string[], options: PlanOptions) => {
      const toPlan = await readPlanner(io, path, services, options)
      const stored = options.plan === undefined ? undefined : await readJson(io, options.plan)
      await withAdmin(io, options, async (admin, { progress }) => {
        const plan = await toPlan(admin)
        progress.stop()
        if (stored !== undefined && !isDeepStrictEqual(JSON.parse(io.toJson(plan)), stored))
          throw failure(
            'admin_conflict',
            `the plan differs from ${options.plan}; nothing was written`,
            'A webhook, the file, a variable or an option has changed. Run "geohook plan --json" again, and review it.',
          )
        if (!io.json) printPlan(io, plan)
        const { length } = changesOf(plan)
        if (length === 0) return io.printResult({ changes: [] }, () => {})
        if (!options.yes && (io.json || !io.host.stdin.isTTY))
          throw usageError('apply asks before it changes anything', 'Confirm the changes with --yes.')
        if (!options.yes) await confirm(io, `Make ${count(length, 'change')}?`, 'nothing was written')
        await apply(io, plan, options.audit)
      })
    })
}

async function apply(io: Io, plan: Plan, path: string | undefined): Promise<void> {
  const { applyPlan } = await import('../../admin/index.ts')
  const { signal } = io.host
  const refuse = (error: unknown): never => {
    throw failure(
      'audit_failed',
      `cannot write ${path}: ${reasonOf(error)}`,
      'No further change was begun. Make the file writable, and apply again.',
    )
  }
  const audit = path === undefined ? undefined : await open(path, 'a', 0o600).catch(refuse)
  const record = async (event: 'begin' | 'end', change: PlannedChange | AppliedChange): Promise<void> => {
    const entry = { at: new Date(), event, site: plan.site, ...toShown(change) }
    await audit?.appendFile(`${io.toJson(entry)}\n`).catch(refuse)
    await audit?.sync().catch(refuse)
  }
  const outcomes = new Map<PlannedChange, AppliedChange>()
  for (const change of changesOf(plan)) outcomes.set(change, { ...change, state: 'not begun' })
  let current: PlannedChange | undefined
  const onChange = async (change: PlannedChange | AppliedChange): Promise<void> => {
    if (!('state' in change)) {
      signal.throwIfAborted()
      current = change
      return record('begin', change)
    }
    if (current) outcomes.set(current, change)
    if (!io.json) printOutcome(io, change)
    await record('end', change)
  }
  const explain = (): void => io.note('stopping after the change in flight; Ctrl-C again ends at once')
  if (!io.json) signal.addEventListener('abort', explain)
  try {
    await applyPlan(plan, { onChange })
  } catch (error) {
    if (error !== signal.reason) throw error
    io.exitCode = EXIT.stopped
  } finally {
    signal.removeEventListener('abort', explain)
    await audit?.close()
    const all = [...outcomes.values()]
    if (all.some(({ state }) => state === 'failed')) io.exitCode = EXIT.failure
    io.printResult({ changes: all.map(toShown) }, () => {
      for (const change of all) if (change.state === 'not begun') printOutcome(io, change)
      const states = all.map(({ state }) => state)
      printCounts(io, states, ['done', 'failed', 'not begun'])
    })
  }
}

/** A change as it may be printed. */
function toShown({ result, error, ...change }: PlannedChange & Partial<AppliedChange>) {
  const { code, message, hint } = error === undefined ? {} : toAdminError(error)
  return {
    ...change,
    ...(result && { adjusted: result.adjusted, notCompared: result.notCompared }),
    ...(code !== undefined && { error: { code, message, hint } }),
  }
}

function printOutcome(io: Io, change: AppliedChange): void {
  const { action, service, name, state } = change
  const { adjusted = [], error } = toShown(change)
  const { green, red } = io.colours
  const start = state === 'done' ? green(action.replace(/e?$/, 'ed')) : `${red(state)} (${action})`
  io.print(`${start} ${printable(`${service}, ${name}`)}`)
  for (const { member, requested, stored } of adjusted)
    io.print(`  ${member.padEnd(13)} ${toText(stored)} (requested ${toText(requested)})`)
  if (error) io.print(`  ${error.code}: ${printable(`${error.message}. ${error.hint}`.trimEnd())}`)
}
