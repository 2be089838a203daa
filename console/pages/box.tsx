import { useNavigate, useParams } from "@tanstack/react-router"
import { stopReasonLabel, useBox, useBoxes } from "../api/boxes.ts"
import type { Box } from "../api/code-answers.ts"
import { useNames } from "../api/names.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { ApiCallButton } from "../parts/api-call-button.tsx"
import { BoxActivityLog } from "../parts/box-activity.tsx"
import { BoxCommands } from "../parts/box-commands.tsx"
import { BoxFileBrowser } from "../parts/box-files.tsx"
import { BoxPorts } from "../parts/box-ports.tsx"
import { BoxPush } from "../parts/box-push.tsx"
import { BoxStatusBadge } from "../parts/box-status.tsx"
import { CopyCommandButton, curlOf } from "../parts/copy-command.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { Id } from "../parts/id.tsx"
import { TextLink, usePagePath } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money, dollarMicros } from "../parts/money.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { Time, TimeUntil } from "../parts/time.tsx"

/** A box: activity, commands, files, ports and actions. */
export default function BoxPage() {
  const { boxId = "" } = useParams({ strict: false })
  const found = useBox(boxId)
  const { found: all } = useBoxes()
  const listed = all.data?.boxes.find(({ id }) => id === boxId)
  return <QueryView query={found}>{(box) => <BoxContent box={{ ...listed, ...box }} />}</QueryView>
}

const isEnded = ({ status }: Box): boolean => status === "stopped" || status === "failed"

function BoxContent({ box }: { readonly box: Box }) {
  const me = useMe()
  const { id, label, personId } = box
  // A reader who sees only their own boxes gets no person id.
  const isOwn = personId === undefined ? !isAdmin(me) : personId === me.personId
  const mayWork = isAdmin(me) || me.permissions.includes("Create test environments")
  const worksIn = isOwn && box.status === "running"
  const activity = {
    name: "activity",
    title: "Activity",
    content: () => <BoxActivityLog boxId={id} />,
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
    content: () => <BoxFileBrowser boxId={id} mayDelete={mayWork} />,
  }
  const push = { name: "push", title: "Push", content: () => <BoxPush boxId={id} /> }
  const mayPush = mayWork && (isAdmin(me) || me.permissions.includes("Push and upload code"))
  return (
    <PageLayout title={label ?? "Box"} description={<Id id={id} />} actions={<Actions box={box} />}>
      <About box={box} />
      <Tabs
        label="Box"
        tabs={[
          activity,
          ...(worksIn ? [commands, files] : []),
          ...(isEnded(box) ? [] : [ports]),
          ...(worksIn && mayPush ? [push] : []),
        ]}
      />
    </PageLayout>
  )
}

function About({ box }: { readonly box: Box }) {
  const { person, key } = useNames()
  const { personId, keyId, spent, budget } = box
  const reason = stopReasonLabel(box.stopReason)
  return (
    <DetailList
      items={[
        ["Status", <BoxStatusBadge key="status" status={box.status} />],
        ["Size", box.size],
        ["Branch", box.branch === "" ? "Erased" : box.branch],
        ...(personId === undefined ? [] : [["Person", person(personId)] as const]),
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
                <TimeUntil at={box.stopsBy} />, or {box.idleMinutes} min after the last activity
              </span>,
            ],
        ...(reason === null ? [] : [["Reason", reason] as const]),
        ["Minutes", spent.minutes.toLocaleString("en-US")],
        ["Cost", <Money key="cost" micros={dollarMicros(spent.dollars)} />],
        ["Budget", budget === null ? "None" : <Money key="budget" micros={dollarMicros(budget)} />],
      ]}
    />
  )
}

function Actions({ box }: { readonly box: Box }) {
  const navigate = useNavigate()
  const pathOf = usePagePath()
  const { id, label } = box
  const path = `/api/v1/sandboxes/${id}`
  return (
    <>
      <CopyCommandButton what="curl" command={curlOf(path)} />
      {isEnded(box) ? null : (
        <ApiCallButton
          label="Stop"
          description="Stops the box now. Unpushed changes are lost, and no further minutes are charged."
          successMessage="The box was stopped."
          confirmationText={label ?? id}
          isDangerous
          changeOf={() => ({ method: "POST", path: `${path}/stop` })}
        />
      )}
      <ApiCallButton
        label="Delete"
        description={
          isEnded(box)
            ? "Removes the box and its activity from the list. Its charges stay in the ledger."
            : "Stops the box first, so unpushed changes are lost. Then it is removed from the list."
        }
        successMessage="The box was deleted."
        {...(isEnded(box) ? {} : { confirmationText: label ?? id })}
        isDangerous
        changeOf={() => ({ method: "DELETE", path })}
        onDone={() => void navigate({ to: pathOf("boxes") })}
      />
    </>
  )
}
