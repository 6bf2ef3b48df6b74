import type { TaskKey } from '../engine-port.ts'
import { HELD } from '../stored-row.ts'
import type { Database } from './driver.node.ts'
import { AMONG, keysOf } from './task-keys.ts'

/** Minimum number of due tasks that a take with an order reads. */
export const WINDOW = 200

/** Maximum number of tasks that one take marks as passed. */
const MAX_PASSED = 1_000

/** Milliseconds between two checks of held tasks, and the maximum number of keys that each checks. */
const [CHECK_INTERVAL, MAX_CHECKED] = [10_000, 1_000]

/** A task with the key of its order. The key is null if it has no order, or if it was passed. */
export interface OrderedTask extends TaskKey {
  key: string | null
}

/** The column `key` of an {@link OrderedTask}. */
export const KEY = 'CASE WHEN passed = 0 THEN task.service END AS key'

/** Marks tasks as passed whose first failed attempt was `hold` milliseconds ago. */
export function passTasks(db: Database, hold: number, now: number): void {
  const failing = db.all<TaskKey>(
    `SELECT seq, handler FROM task INDEXED BY task_failing
     WHERE state = 0 AND failing_since IS NOT NULL AND passed = 0 AND failing_since <= ? LIMIT ?`,
    ...[now - hold, MAX_PASSED],
  )
  if (failing.length === 0) return
  db.run(`UPDATE task SET passed = 1 WHERE ${AMONG}`, keysOf(failing))
  releaseNext(db, failing, now)
}

/**
 * Releases the first held task with the key of each of these tasks: the first one that is routed, and the first one that
 * is not. The next take holds the later of them again.
 *
 * @param condition SQL about the tasks `held` and `ended`
 */
export function releaseNext(db: Database, ended: readonly TaskKey[], now: number, condition = '1'): void {
  if (!db.get(`SELECT 1 FROM total WHERE state = ${HELD} AND number > 0`)) return
  db.run(
    `UPDATE task SET state = 0, due = min(due, ?) WHERE (seq, handler) IN (
       SELECT (
         SELECT CASE WHEN ${condition} THEN held.seq END FROM task AS held INDEXED BY task_held
         WHERE held.state = ${HELD} AND held.handler = ended.handler AND held.routed = kind.value
           AND held.service = ended.service
         ORDER BY held.seq LIMIT 1
       ), handler FROM task AS ended, json_each('[0,1]') AS kind WHERE service IS NOT NULL AND ${AMONG})`,
    ...[now, keysOf(ended)],
  )
}

/**
 * Holds those of the tasks of a handler that must wait for an earlier one with the same key. Returns the others. A task that
 * is not routed yet can become one of the handler.
 */
export function holdBlocked<Task extends OrderedTask>(
  db: Database,
  handler: string,
  tasks: readonly Task[],
): Task[] {
  const active = db.all<{ service: string }>(
    `SELECT service FROM task INDEXED BY task_active
     WHERE state = 1 AND service IS NOT NULL AND passed = 0 AND (handler = ? OR routed = 0)`,
    handler,
  )
  const busy = new Set<string | null>(active.map(({ service }) => service))
  const keyed = tasks.filter(({ key }) => key !== null).sort((a, b) => a.seq - b.seq)
  const isEarlier = (index: string, condition: string): string =>
    `EXISTS (SELECT 1 FROM task INDEXED BY ${index}
       WHERE ${condition} AND task.service = value ->> 1 AND task.seq < value ->> 0)`
  const isWaiting = 'state = 0 AND service IS NOT NULL AND passed = 0'
  const waiting = db.all<{ seq: number }>(
    `SELECT value ->> 0 AS seq FROM json_each(?)
     WHERE ${isEarlier('task_service', `${isWaiting} AND handler = ? AND routed = 1`)}
       OR ${isEarlier('task_held', `state = ${HELD} AND handler = ? AND routed = 1`)}
       OR ${isEarlier('task_service', `${isWaiting} AND handler = '' AND routed = 0`)}
       OR ${isEarlier('task_held', `state = ${HELD} AND handler = '' AND routed = 0`)}`,
    ...[JSON.stringify(keyed.map(({ seq, key }) => [seq, key])), handler, handler],
  )
  const late = new Set(waiting.map(({ seq }) => seq))
  const blocked = new Set<Task>()
  for (const task of keyed) {
    if (busy.has(task.key) || late.has(task.seq)) blocked.add(task)
    busy.add(task.key)
  }
  if (blocked.size > 0) db.run(`UPDATE task SET state = ${HELD} WHERE ${AMONG}`, keysOf([...blocked]))
  return tasks.filter((task) => !blocked.has(task))
}

/**
 * Returns a function that releases, from time to time, the held tasks that wait for no other: those that workers without
 * an order left behind.
 */
export function createCheck(): (db: Database, now: number) => void {
  let checkAt = -Infinity
  let last = { handler: '', routed: 0, key: '' }
  return (db, now) => {
    if (performance.now() < checkAt) return
    checkAt = performance.now() + CHECK_INTERVAL
    const first: (TaskKey & typeof last)[] = []
    for (let isLast = false; !isLast && first.length < MAX_CHECKED; ) {
      const next = db.get<TaskKey & typeof last>(
        `SELECT seq, handler, routed, service AS key FROM task INDEXED BY task_held
         WHERE state = ${HELD} AND (handler, routed, service) > (?, ?, ?)
         ORDER BY handler, routed, service, seq LIMIT 1`,
        ...[last.handler, last.routed, last.key],
      )
      isLast = next === undefined
      last = next ?? { handler: '', routed: 0, key: '' }
      if (next) first.push(next)
    }
    const free = [...new Set(first.map(({ handler }) => handler))].flatMap((handler) =>
      holdBlocked(
        db,
        handler,
        first.filter((task) => task.handler === handler),
      ),
    )
    if (free.length > 0)
      db.run(`UPDATE task SET state = 0, due = min(due, ?) WHERE ${AMONG}`, now, keysOf(free))
  }
}
