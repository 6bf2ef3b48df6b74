/** "gehk" in the file header, which identifies an inbox to geohook and to file(1). */
export const APPLICATION_ID = 0x6765686b

/**
 * `delivery.at` depends on `state`: due time (waiting), expiry of the lease (active) or end time (done, dead). Bodies
 * have their own table, so that a change of state does not rewrite them. Triggers keep the table `total` up to date, so
 * that rows need not be counted. A claim without an owner is a done delivery.
 */
const VERSION_1 = `
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    owner TEXT,
    error TEXT,
    received_at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    change_types TEXT NOT NULL
  );
  CREATE INDEX delivery_listed ON delivery (state);
  CREATE INDEX delivery_due ON delivery (at) WHERE state IN ('waiting', 'active');
  CREATE INDEX delivery_ended ON delivery (state, at) WHERE state IN ('done', 'dead');

  CREATE TABLE content (seq INTEGER PRIMARY KEY, head TEXT NOT NULL, body BLOB NOT NULL);

  CREATE TABLE total (state TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO total VALUES ('waiting', 0), ('active', 0), ('done', 0), ('dead', 0);
  CREATE TRIGGER delivery_added AFTER INSERT ON delivery BEGIN
    UPDATE total SET number = number + 1 WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_moved AFTER UPDATE OF state ON delivery WHEN new.state <> old.state BEGIN
    UPDATE total SET number = number - 1 WHERE state = old.state;
    UPDATE total SET number = number + 1 WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_removed AFTER DELETE ON delivery BEGIN
    UPDATE total SET number = number - 1 WHERE state = old.state;
    DELETE FROM content WHERE seq = old.seq;
  END;

  CREATE TABLE claim (id TEXT PRIMARY KEY, owner TEXT, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX claim_until ON claim (until);

  PRAGMA application_id = ${APPLICATION_ID};
`

/**
 * `clock.latest` is a recent reading of the machine's clock. If the clock now shows an earlier time, it was set back.
 * `total.bytes` is the sum of the body sizes.
 */
const VERSION_2 = `
  CREATE TABLE clock (latest INTEGER NOT NULL);
  INSERT INTO clock SELECT coalesce(max(received_at), 0) FROM (
    SELECT received_at FROM delivery ORDER BY seq DESC LIMIT 1);

  ALTER TABLE total ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE total SET bytes = (SELECT coalesce(sum(size), 0) FROM delivery WHERE delivery.state = total.state);
  DROP TRIGGER delivery_added;
  DROP TRIGGER delivery_moved;
  DROP TRIGGER delivery_removed;
  CREATE TRIGGER delivery_added AFTER INSERT ON delivery BEGIN
    UPDATE total SET number = number + 1, bytes = bytes + new.size WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_moved AFTER UPDATE OF state ON delivery WHEN new.state <> old.state BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - old.size WHERE state = old.state;
    UPDATE total SET number = number + 1, bytes = bytes + new.size WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_removed AFTER DELETE ON delivery BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - old.size WHERE state = old.state;
    DELETE FROM content WHERE seq = old.seq;
  END;
`

/** The last generation of each layer of a feature service up to which all changes have been handled. */
const VERSION_3 = `
  CREATE TABLE generation (
    service TEXT NOT NULL,
    layer INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (service, layer)
  ) WITHOUT ROWID;
`

/**
 * The last known rows of features, in the order in which they were written. A row without a value is a deleted feature.
 * `known_total` is the number of rows.
 */
const VERSION_4 = `
  CREATE TABLE known_layer (number INTEGER PRIMARY KEY, service TEXT NOT NULL, id INTEGER NOT NULL, UNIQUE (service, id));
  CREATE TABLE known_row (
    written INTEGER PRIMARY KEY,
    layer INTEGER NOT NULL,
    key TEXT NOT NULL,
    object_id TEXT,
    generation INTEGER NOT NULL,
    value TEXT,
    UNIQUE (layer, key)
  );
  CREATE INDEX known_row_object ON known_row (layer, object_id) WHERE object_id IS NOT NULL;
  CREATE TABLE known_total (number INTEGER NOT NULL);
  INSERT INTO known_total VALUES (0);
`

/**
 * A delivery is what arrived; its tasks are its fates, one for each name of a handler. `state` is the index in `STATES`.
 * `task.due` depends on it: due time, expiry of the lease, or end time. `total` counts tasks. `compatible` is the oldest
 * version of the tables whose processes may use this file.
 *
 * `routed` is 1 if further tasks of the delivery were created, or none is needed.
 */
const VERSION_5 = `
  DROP TRIGGER delivery_added;
  DROP TRIGGER delivery_moved;
  DROP TRIGGER delivery_removed;
  ALTER TABLE delivery RENAME TO delivery_4;

  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    received INTEGER NOT NULL,
    tenant TEXT,
    service TEXT,
    types TEXT NOT NULL,
    size INTEGER NOT NULL
  );
  INSERT INTO delivery (seq, id, received, types, size)
    SELECT seq, id, received_at, change_types, size FROM delivery_4 ORDER BY seq;

  CREATE TABLE task (
    seq INTEGER NOT NULL,
    handler TEXT NOT NULL DEFAULT '',
    service TEXT,
    state INTEGER NOT NULL,
    due INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,
    alone INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    started INTEGER,
    errors TEXT,
    routed INTEGER NOT NULL DEFAULT 0,
    passed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (seq, handler)
  ) WITHOUT ROWID;
  INSERT INTO task (seq, state, due, attempts, owner, errors)
    SELECT seq, CASE state WHEN 'waiting' THEN 0 WHEN 'active' THEN 1 WHEN 'done' THEN 2 ELSE 3 END, at, attempts, owner,
      CASE WHEN error IS NOT NULL THEN json_array(json_object('error', CAST(error AS TEXT))) END
    FROM delivery_4 ORDER BY seq;
  DROP TABLE delivery_4;
  CREATE INDEX task_due ON task (handler, due, seq) WHERE state = 0;
  CREATE INDEX task_active ON task (due) WHERE state = 1;
  CREATE INDEX task_ended ON task (state, due) WHERE state >= 2;
  CREATE INDEX task_listed ON task (state, seq);

  DROP TABLE total;
  CREATE TABLE total (state INTEGER PRIMARY KEY, number INTEGER NOT NULL, bytes INTEGER NOT NULL);
  INSERT INTO total VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (5, 0, 0);
  UPDATE total SET
    number = (SELECT count(*) FROM task WHERE task.state = total.state),
    bytes = (SELECT coalesce(sum(size), 0) FROM task JOIN delivery USING (seq) WHERE task.state = total.state);
  CREATE TRIGGER task_added AFTER INSERT ON task BEGIN
    UPDATE total SET number = number + 1, bytes = bytes + (SELECT size FROM delivery WHERE seq = new.seq)
    WHERE state = new.state;
  END;
  CREATE TRIGGER task_moved AFTER UPDATE OF state ON task WHEN new.state <> old.state BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - (SELECT size FROM delivery WHERE seq = old.seq)
    WHERE state = old.state;
    UPDATE total SET number = number + 1, bytes = bytes + (SELECT size FROM delivery WHERE seq = new.seq)
    WHERE state = new.state;
  END;
  CREATE TRIGGER task_removed AFTER DELETE ON task BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - (SELECT size FROM delivery WHERE seq = old.seq)
    WHERE state = old.state;
    DELETE FROM content WHERE seq = old.seq AND NOT EXISTS (SELECT 1 FROM task WHERE seq = old.seq);
    DELETE FROM delivery WHERE seq = old.seq AND NOT EXISTS (SELECT 1 FROM task WHERE seq = old.seq);
  END;

  CREATE TABLE worker (id TEXT PRIMARY KEY, names TEXT, types TEXT, seen INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE queue (paused INTEGER NOT NULL DEFAULT 0, concurrency INTEGER);
  INSERT INTO queue DEFAULT VALUES;

  ALTER TABLE generation RENAME TO generation_4;
  CREATE TABLE generation (
    handler TEXT NOT NULL,
    service TEXT NOT NULL,
    layer INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (handler, service, layer)
  ) WITHOUT ROWID;
  INSERT INTO generation SELECT '', service, layer, generation FROM generation_4;
  DROP TABLE generation_4;

  CREATE TABLE meta (compatible INTEGER NOT NULL);
  INSERT INTO meta VALUES (5);
`

/**
 * Names of handlers: a delivery is routed to them when it is taken for the first time. Processes of older versions would
 * take it without that.
 */
const VERSION_6 = `
  DROP INDEX task_due;
  CREATE INDEX task_ready ON task (handler, routed, due, seq) WHERE state = 0;
  UPDATE meta SET compatible = 6;
`

/**
 * The order of a service's deliveries: `service` is its key, and a held task waits for an earlier one with the same key,
 * unless that one has `passed`. `failing_since` is when the first attempt failed, `error_kind` is the last error without
 * ids and long numbers. Processes of older versions would break the order.
 */
const VERSION_7 = `
  ALTER TABLE task ADD COLUMN failing_since INTEGER;
  ALTER TABLE task ADD COLUMN error_kind TEXT;
  ALTER TABLE task ADD COLUMN rerun INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX task_service ON task (handler, routed, service, seq) WHERE state = 0 AND service IS NOT NULL AND passed = 0;
  CREATE INDEX task_held ON task (handler, routed, service, seq) WHERE state = 5;
  CREATE INDEX task_failing ON task (failing_since) WHERE state = 0 AND failing_since IS NOT NULL AND passed = 0;
  UPDATE meta SET compatible = 7;
`

/**
 * SQL that upgrades the tables from each version to the next. All of it runs on a new file, so new and upgraded files
 * have the same tables.
 */
export const UPGRADES: readonly string[] = [
  VERSION_1,
  VERSION_2,
  VERSION_3,
  VERSION_4,
  VERSION_5,
  VERSION_6,
  VERSION_7,
]
