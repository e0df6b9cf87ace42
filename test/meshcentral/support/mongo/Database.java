import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;

/** A database in memory that speaks MongoDB's protocol and has change streams: writes its port, and ends with its standard input. */
public class Database {
    public static void main(String[] options) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend());
        server.enableOplog();
        System.out.println(server.bind().getPort());
        while (System.in.read() >= 0) { }
        server.shutdownNow();
    }
}
