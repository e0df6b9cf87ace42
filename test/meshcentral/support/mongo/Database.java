import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;

/** A database in memory that speaks MongoDB's protocol and has change streams: writes its port, and ends with its standard input. */
public class Database {
    public static void main(String[] options) throws Exception {
        MongoServer server = new MongoServer(new OneAtATime());
        server.enableOplog();
        System.out.println(server.bind().getPort());
        while (System.in.read() >= 0) { }
        server.shutdownNow();
    }

    /** Indexes and collections that are made while others read have it fail with "Unknown error: null", which ends the MeshCentral that asked. */
    private static class OneAtATime extends MemoryBackend {
        @Override
        public synchronized Document handleMessage(MongoMessage message) {
            return super.handleMessage(message);
        }
    }
}
