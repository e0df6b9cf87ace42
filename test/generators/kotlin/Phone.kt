import org.openapitools.client.apis.DefaultApi
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.infrastructure.Serializer
import org.openapitools.client.models.AndroidPush
import org.openapitools.client.models.AvatarsBody
import org.openapitools.client.models.ErrorAnswer
import org.openapitools.client.models.RegisterBody
import org.openapitools.client.models.SyncBody
import org.openapitools.client.models.UnregisterBody

private fun errorOf(text: String) = Serializer.moshi.adapter(ErrorAnswer::class.java).fromJson(text)!!.error

/** Given the sidecar's address, an avatar's image and its hash. */
fun main(given: Array<String>) {
    val (address, image, hash) = given
    val api = DefaultApi(address)
    val first = RegisterBody("N0CALL", "7", 13023, RegisterBody.Platform.android, "token", false, wantHistory = true, since = 0)
        .copy(anySsid = true, wantAcks = true, blocked = listOf("SPAM*"))
    val registered = api.register(first)
    val message = registered.messages!!.single()
    val ack = registered.acks!!.single()
    val synced = api.sync(SyncBody("N0CALL", "7", 13023, registered.serverTime))
    val pictured = api.register(first.copy(wantHistory = null, wantAcks = null, avatarUpdate = true, avatarIcon = "", avatarImage = image, avatarHash = hash))
    val avatars = api.avatars(AvatarsBody("N0CALL", "7", 13023, listOf("N0CALL-7")))
    api.unregister(UnregisterBody("N0CALL", "7", 13023, pushToken = "token"))
    val refused = try {
        api.sync(SyncBody("N0CALL", "7", 13023, synced.serverTime)).toString()
    } catch (refusal: ClientException) {
        errorOf((refusal.response as ClientError<*>).body as String).value
    }
    val data = """{"fromCall":"W1AW","seqId":"12","to":"N0CALL-7","count":"1","collapseId":"aprs-N0CALL-7"}"""
    val push = Serializer.moshi.adapter(AndroidPush::class.java).fromJson(data)!!
    val seen = mapOf(
        "text" to message.text,
        "time" to message.time.toString(),
        "acked" to "${ack.kind.value} ${ack.seqId}",
        "newer" to synced.messages.size.toString(),
        "held" to pictured.avatarHash,
        "avatar" to avatars.avatars.getValue("N0CALL-7").hash,
        "refused" to refused,
        "push" to push.fromCall,
        "unknown" to errorOf("""{"error":"of_a_later_version","message":""}""").value,
    )
    println(Serializer.moshi.adapter(Map::class.java).toJson(seen))
}
