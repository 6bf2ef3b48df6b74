import { type OptionNames, requireValues, wholeNumber } from '../options.ts'

/** Options of every row store. */
export interface RowsOptions {
  /**
   * Maximum number of rows, from 1. Above this number, the rows that were written the longest time ago are removed.
   * Default 1,000,000.
   */
  maxRows?: number | undefined
}

/** The rules of the options of every row store. */
export const ROWS_OPTIONS: OptionNames<RowsOptions> = { maxRows: wholeNumber(1) }

/** @throws {WebhookError} `config_invalid` */
export const readMaxRows = (options: RowsOptions): number =>
  requireValues(options, ROWS_OPTIONS).maxRows ?? 1_000_000
