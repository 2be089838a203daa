/** The channel that every appending transaction notifies of its head: the highest position, as text. */
export const APPENDED_CHANNEL = "eventstore_appended"

/**
 * The schema `eventstore`: one table, and the only function that writes it. Run once, by a migration.
 *
 * `data` and `metadata` are `text`: `jsonb` would lose the order of keys and the format of numbers, and so the
 * hashed bytes. `stream` is compared byte by byte, for prefixes and for speed.
 *
 * `position` counts all events without gaps, in the order in which they become visible. A sequence cannot: its
 * numbers are taken before the commit, and a rollback leaves a gap, so that a reader would miss an event that
 * appears later.
 */
export const eventStoreSchemaSql: string = `
create schema eventstore;

create table eventstore.events (
  position bigint primary key,
  stream text collate "C" not null,
  revision integer not null,
  id uuid not null,
  type text not null,
  data text not null,
  metadata text not null,
  unique (stream, revision)
);

-- Stores many appends, each to another stream, in the caller's transaction, and answers each in the order given.
-- An append is stored if its stream's last revision is the expected one. An append whose events already follow the
-- expected revision is answered as the first time ("actual" is null, as for a stored one); any other gets the
-- stream's last revision in "actual" and nothing else. A rejected append does not affect the others.
--
-- Sequential scans are off and plans are generic: a table that was never analyzed is taken for a small one, and a
-- scan planned then would stay in the session.
create function eventstore.append_many(
  streams text[],
  expected_revisions integer[],
  event_counts integer[],
  event_appends integer[],
  event_ids uuid[],
  event_types text[],
  event_data text[],
  event_metadata text[]
)
returns table (revision integer, "position" bigint, actual integer)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $function$
#variable_conflict use_column
declare
  head bigint;
  last_revisions integer[];
  events_before integer[];
  offsets bigint[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'eventstore.append_many needs read committed, not %',
      current_setting('transaction_isolation');
  end if;

  -- Writers of all processes queue for this lock, which is held until their transaction is visible.
  -- It must be a statement of its own: under read committed every statement of a volatile function
  -- takes a new snapshot, so the statements below see all that was stored before the lock was
  -- granted. A statement that locks and reads would use a snapshot from before it waited.
  perform pg_advisory_xact_lock(hashtextextended('eventstore.append_many', 0));

  select coalesce(max(e.position), -1) into head from eventstore.events e;

  -- Per append: the last revision of its stream, how many events precede its own in the arrays, and
  -- the offset from array indexes to positions, null if it is not to be stored.
  select
    array_agg(looked.last_revision order by looked.append),
    array_agg(looked.events_before::integer order by looked.append),
    array_agg(
      case when looked.accepted then head - looked.refused_before end order by looked.append
    )
  into last_revisions, events_before, offsets
  from (
    select
      found.append,
      found.last_revision,
      found.last_revision = found.expected_revision as accepted,
      sum(found.event_count) over earlier - found.event_count as events_before,
      coalesce(
        sum(found.event_count) filter (where found.last_revision <> found.expected_revision)
          over earlier,
        0
      ) as refused_before
    from (
      select a.*, coalesce(
        (
          select e.revision from eventstore.events e
          where e.stream = a.stream
          order by e.revision desc
          limit 1
        ),
        -1
      ) as last_revision
      from unnest(streams, expected_revisions, event_counts) with ordinality
        as a (stream, expected_revision, event_count, append)
    ) found
    window earlier as (order by found.append)
  ) looked;

  insert into eventstore.events (position, stream, revision, id, type, data, metadata)
  select
    offsets[e.append] + e.place,
    streams[e.append],
    expected_revisions[e.append] + e.place - events_before[e.append],
    e.id,
    e.type,
    e.data,
    e.metadata
  from unnest(event_appends, event_ids, event_types, event_data, event_metadata) with ordinality
    as e (append, id, type, data, metadata, place)
  where offsets[e.append] is not null;

  if found then
    perform pg_notify(
      '${APPENDED_CHANNEL}',
      (select max(e.position) from eventstore.events e)::text
    );
  end if;

  return query
  select
    case when answer.position is not null then a.expected_revision + a.event_count end,
    answer.position,
    case when answer.position is null then last_revisions[a.append] end
  from unnest(streams, expected_revisions, event_counts) with ordinality
    as a (stream, expected_revision, event_count, append)
  cross join lateral (
    select case
      when offsets[a.append] is not null
        then offsets[a.append] + events_before[a.append] + a.event_count
      -- Evaluated for rejected appends only: do they repeat one that was stored?
      when (
        select array_agg(e.id order by e.revision) from eventstore.events e
        where e.stream = a.stream
          and e.revision > a.expected_revision
          and e.revision <= a.expected_revision + a.event_count
      ) = event_ids[events_before[a.append] + 1 : events_before[a.append] + a.event_count]
        then (
          select e.position from eventstore.events e
          where e.stream = a.stream and e.revision = a.expected_revision + a.event_count
        )
    end as position
  ) answer
  order by a.append;
end
$function$;
`
