import type { Diagnosis } from '../../index.ts'
import { colours, print } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'

/** A diagnosis of a request in a file. */
export interface FileDiagnosis extends Diagnosis {
  file: string
  /** A remark about the request, for example on a secret in its headers. */
  note: string | undefined
}

/** Prints a diagnosis. Escapes the evidence, because an attacker may have chosen the header and field names in it. */
export function printDiagnosis({ file, ok, cause, also, evidence, fix, note }: FileDiagnosis): void {
  print(colours.bold(printable(file)))
  print(`  cause     ${ok ? colours.green(cause) : colours.red(cause)}`)
  if (also) print(`  also      ${colours.red(also.join(', '))}`)
  print(`  evidence  ${printable(evidence)}`)
  print(`  fix       ${fix}`)
  if (note) print(`  note      ${note}`)
}
