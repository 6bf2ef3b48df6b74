import type { Diagnosis } from '../../index.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'

/** A diagnosis of a request in a file. */
export interface FileDiagnosis extends Diagnosis {
  file: string
  /** A remark about the request, for example on a secret in its headers. */
  note: string | undefined
}

/** Prints a diagnosis. Escapes the evidence, because an attacker may have chosen the header and field names in it. */
export function printDiagnosis(io: Io, { file, ok, cause, also, evidence, fix, note }: FileDiagnosis): void {
  io.print(io.colours.bold(printable(file)))
  io.print(`  cause     ${ok ? io.colours.green(cause) : io.colours.red(cause)}`)
  if (also) io.print(`  also      ${io.colours.red(also.join(', '))}`)
  io.print(`  evidence  ${printable(evidence)}`)
  io.print(`  fix       ${fix}`)
  if (note) io.print(`  note      ${note}`)
}
