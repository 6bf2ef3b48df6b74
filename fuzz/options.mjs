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
    },
  })
  const { target: names = Object.keys(TARGETS), replay, save } = values
  const unknown = names.find((name) => !Object.hasOwn(TARGETS, name))
  if (unknown !== undefined) {
    throw new Error(`Unknown target: ${unknown}. Targets: ${Object.keys(TARGETS).join(', ')}`)
  }
  if (replay !== undefined && names.length !== 1) throw new Error('--replay needs one --target')
  if (save && replay !== undefined) throw new Error('--save cannot be combined with --replay')
  const executions = readNumber('executions', values.executions) ?? Infinity
  const seconds = readNumber('seconds', values.seconds) ?? (executions === Infinity ? 60 : Infinity)
  const seed = readNumber('seed', values.seed) ?? randomInt(2 ** 31)
  return { names, replay, save, executions, seconds, seed }
}

function readNumber(name, text) {
  if (text === undefined) return undefined
  const number = Number(text)
  if (text.trim() === '' || !(number >= 0)) throw new Error(`--${name} must be a number, 0 or greater`)
  return number
}
