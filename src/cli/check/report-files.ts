import { writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { type CheckReport, toHtml, toJUnit } from '../../check/index.ts'
import { usageError } from '../errors.ts'
import { reasonOf } from '../io/files.ts'
import type { Io } from '../terminal/io.ts'
import { printText } from './print-text.ts'

export type Format = 'text' | 'json' | 'junit' | 'html'
export const FORMATS: readonly Format[] = ['text', 'json', 'junit', 'html']

type Writer = (report: CheckReport) => string

const BY_ENDING: Readonly<Record<string, Writer>> = {
  '.json': (report) => `${JSON.stringify(report, null, 2)}\n`,
  '.xml': toJUnit,
  '.html': toHtml,
}

/** Parses the name of a report file, and adds it to the previous ones. */
export function reportFile(value: string, previous: readonly string[] = []): string[] {
  if (Object.hasOwn(BY_ENDING, extname(value))) return [...previous, value]
  throw new InvalidArgumentError(`must end with ${Object.keys(BY_ENDING).join(', ')}`)
}

/** @throws {CliError} exit code 2 if the file cannot be written */
export async function writeReport(file: string, report: CheckReport): Promise<void> {
  try {
    await writeFile(file, (BY_ENDING[extname(file)] as Writer)(report))
  } catch (error) {
    throw usageError(`cannot write ${file}: ${reasonOf(error)}`)
  }
}

/** Prints a report to standard output. */
export function printReport(io: Io, report: CheckReport, format: Format): void {
  if (format === 'text') printText(io, report)
  else if (format === 'json') io.printJson(report)
  else io.host.stdout.write({ junit: toJUnit, html: toHtml }[format](report))
}
