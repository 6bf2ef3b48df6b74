import type { OptionNames } from '../options.ts'
import { readNumber } from './inbox-options.ts'

/** Options of every row store. */
export interface RowsOptions {
  /**
   * Maximum number of rows, from 1. Above this number, the rows that were written the longest time ago are removed.
   * Default 1,000,000.
   */
  maxRows?: number | undefined
}

/** The names of the options of every row store. */
export const ROWS_OPTIONS: OptionNames<RowsOptions> = { maxRows: true }

/** @throws {WebhookError} `config_invalid` */
export const readMaxRows = ({ maxRows = 1_000_000 }: RowsOptions): number => readNumber('maxRows', maxRows, 1)
