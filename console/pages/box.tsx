import { useNavigate, useParams } from "@tanstack/react-router"
import { stopWords, useBox, useBoxes } from "../api/boxes.ts"
import type { Box } from "../api/code-answers.ts"
import { useNames } from "../api/names.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { CallDialog } from "../parts/call-dialog.tsx"
import { BoxActivity } from "../parts/box-activity.tsx"
import { BoxCommands } from "../parts/box-commands.tsx"
import { BoxFiles } from "../parts/box-files.tsx"
import { BoxPorts } from "../parts/box-ports.tsx"
import { BoxPush } from "../parts/box-push.tsx"
import { BoxStatus } from "../parts/box-status.tsx"
import { CopyAs, curlOf } from "../parts/copy-as.tsx"
import { Facts } from "../parts/facts.tsx"
import { Id } from "../parts/id.tsx"
import { TextLink, usePlace } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money, dollarMicros } from "../parts/money.tsx"
import { Page } from "../parts/page.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { Time, Until } from "../parts/time.tsx"

/** One box: what was done in it, its commands, files and ports, and ending it. */
export default function BoxPage() {
  const { boxId = "" } = useParams({ strict: false })
  const found = useBox(boxId)
  const { found: all } = useBoxes()
  const listed = all.data?.boxes.find(({ id }) => id === boxId)
  return <Loaded of={found}>{(box) => <Shown box={{ ...listed, ...box }} />}</Loaded>
}

const isEnded = ({ status }: Box): boolean => status === "stopped" || status === "failed"

function Shown({ box }: { readonly box: Box }) {
  const me = useMe()
  const { id, label, personId } = box
  // To who sees but their own boxes, it is not said whose they are.
  const isOwn = personId === undefined ? !isAdmin(me) : personId === me.personId
  const mayWork = isAdmin(me) || me.permissions.includes("Create test environments")
  const worksIn = isOwn && box.status === "running"
  const activity = {
    name: "activity",
    title: "Activity",
    content: () => <BoxActivity boxId={id} />,
  }
  const ports = {
    name: "ports",
    title: "Ports",
    content: () => <BoxPorts box={box} mayChange={worksIn && mayWork} />,
  }
  const commands = {
    name: "commands",
    title: "Commands",
    content: () => <BoxCommands boxId={id} mayRun={mayWork} />,
  }
  const files = {
    name: "files",
    title: "Files",
    content: () => <BoxFiles boxId={id} mayDelete={mayWork} />,
  }
  const push = { name: "push", title: "Push", content: () => <BoxPush boxId={id} /> }
  const mayPush = mayWork && (isAdmin(me) || me.permissions.includes("Push and upload code"))
  return (
    <Page title={label ?? "Box"} says={<Id id={id} />} actions={<Actions box={box} />}>
      <About box={box} />
      <Tabs
        label="The box"
        tabs={[
          activity,
          ...(worksIn ? [commands, files] : []),
          ...(isEnded(box) ? [] : [ports]),
          ...(worksIn && mayPush ? [push] : []),
        ]}
      />
    </Page>
  )
}

function About({ box }: { readonly box: Box }) {
  const { person, key } = useNames()
  const { personId, keyId, spent, budget } = box
  const reason = stopWords(box.stopReason)
  return (
    <Facts
      of={[
        ["Status", <BoxStatus key="status" status={box.status} />],
        ["Size", box.size],
        ["Branch", box.branch === "" ? "Erased" : box.branch],
        ...(personId === undefined ? [] : [["Of", person(personId)] as const]),
        ...(keyId === undefined || keyId === null
          ? []
          : [
              [
                "Key",
                <TextLink key="key" to={`keys/${keyId}`}>
                  {key(keyId)}
                </TextLink>,
              ] as const,
            ]),
        ["Started", <Time key="started" at={box.createdAt} isWhole />],
        isEnded(box)
          ? ["Ended", <Time key="ended" at={box.stoppedAt} isWhole />]
          : [
              "Stops in",
              <span key="stops">
                <Until at={box.stopsBy} />, or {box.idleMinutes} min after the last work
              </span>,
            ],
        ...(reason === null ? [] : [["Why", reason] as const]),
        ["Minutes", spent.minutes.toLocaleString("en-US")],
        ["Cost", <Money key="cost" micros={dollarMicros(spent.dollars)} />],
        ["Budget", budget === null ? "None" : <Money key="budget" micros={dollarMicros(budget)} />],
      ]}
    />
  )
}

function Actions({ box }: { readonly box: Box }) {
  const navigate = useNavigate()
  const placeOf = usePlace()
  const { id, label } = box
  const path = `/api/v1/sandboxes/${id}`
  return (
    <>
      <CopyAs what="curl" command={curlOf(path)} />
      {isEnded(box) ? null : (
        <CallDialog
          label="Stop"
          says="The box ends now: what was not pushed is gone, and no further minute is charged."
          done="The box was stopped."
          typed={label ?? id}
          isDangerous
          changeOf={() => ({ method: "POST", path: `${path}/stop` })}
        />
      )}
      <CallDialog
        label="Delete"
        says={
          isEnded(box)
            ? "The box and what was done in it are not listed any more. What it cost stays in the ledger."
            : "The box is stopped first: what was not pushed is gone. Then it is not listed any more."
        }
        done="The box was deleted."
        {...(isEnded(box) ? {} : { typed: label ?? id })}
        isDangerous
        changeOf={() => ({ method: "DELETE", path })}
        onDone={() => void navigate({ to: placeOf("boxes") })}
      />
    </>
  )
}
