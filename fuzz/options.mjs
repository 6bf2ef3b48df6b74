import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { TARGETS } from './targets.mjs'

/** Reads the options of the command line. Throws an error that says what is wrong with them. */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', multiple: true },
      seconds: { type: 'string' },
      executions: { type: 'string' },
      seed: { type: 'string' },
      replay: { type: 'string' },
      save: { type: 'boolean', default: false },
      /** Another folder for findings, for tests. */
      findings: { type: 'string', default: 'fuzz/findings' },
      /** A target outside of fuzz/targets, for tests. Branches of its folder count. */
      module: { type: 'string' },
    },
  })
  const { target = Object.keys(TARGETS), module, replay, save, findings } = values
  const unknown = target.find((name) => !Object.hasOwn(TARGETS, name))
  if (unknown !== undefined) {
    throw new Error(`Unknown target: ${unknown}. Targets: ${Object.keys(TARGETS).join(', ')}`)
  }
  if (module !== undefined && values.target) throw new Error('--module and --target cannot be combined')
  if (replay !== undefined && module === undefined && target.length !== 1) {
    throw new Error('--replay needs one --target')
  }
  if (save && (replay ?? module) !== undefined) {
    throw new Error('--save cannot be combined with --replay or --module')
  }
  const executions = readNumber('executions', values.executions) ?? Infinity
  const seconds = readNumber('seconds', values.seconds) ?? (executions === Infinity ? 60 : Infinity)
  const seed = readNumber('seed', values.seed) ?? randomInt(2 ** 31)
  const names = module === undefined ? target : ['module']
  return { names, module, replay, save, findings, executions, seconds, seed }
}

function readNumber(name, text) {
  if (text === undefined) return undefined
  const number = Number(text)
  if (text.trim() === '' || !(number >= 0)) throw new Error(`--${name} must be a number, 0 or greater`)
  return number
}
